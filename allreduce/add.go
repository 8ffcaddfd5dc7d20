package allreduce

// addTo adds src to dst, element by element; the lengths are equal.
func addTo(dst, src []float32) {
	src = src[:len(dst)]
	for len(dst) >= 8 && len(src) >= 8 {
		d, s := (*[8]float32)(dst), (*[8]float32)(src)
		d[0] += s[0]
		d[1] += s[1]
		d[2] += s[2]
		d[3] += s[3]
		d[4] += s[4]
		d[5] += s[5]
		d[6] += s[6]
		d[7] += s[7]
		dst, src = dst[8:], src[8:]
	}
	for i, x := range src {
		dst[i] += x
	}
}

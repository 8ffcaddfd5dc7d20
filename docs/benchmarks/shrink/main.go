// Command shrink rewrites PNG files with at most 64 colours, which makes figures of
// lines and bars nearly four times smaller:
//
//	go run ./docs/benchmarks/shrink FILE…
//
// The palette has the most frequent colours of which no two are within a distance
// d, the largest difference of a channel; d is the least for which 64 suffice.
// No pixel changes by more than d of 255. A file that has a palette already stays
// as it is.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"slices"
)

const most = 64 // colours

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: shrink FILE…")
		os.Exit(2)
	}
	for _, path := range os.Args[1:] {
		if err := rewrite(path); err != nil {
			fmt.Fprintf(os.Stderr, "shrink: %s: %v\n", path, err)
			os.Exit(1)
		}
	}
}

func rewrite(path string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	picture, err := png.Decode(bytes.NewReader(before))
	if err != nil {
		return err
	}
	if _, has := picture.(*image.Paletted); has {
		return nil
	}
	small, d := shrink(picture)
	var after bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&after, small); err != nil {
		return err
	}
	fmt.Printf("%s: %d to %d bytes, pixels change by at most %d of 255\n", path, len(before), after.Len(), d)
	return os.WriteFile(path, after.Bytes(), 0o644)
}

func shrink(picture image.Image) (*image.Paletted, int) {
	bounds := picture.Bounds()
	counts := map[color.NRGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(picture, x, y)]++
		}
	}
	colours, d := palette(counts)
	nearest := map[color.NRGBA]uint8{}
	for c := range counts {
		best := 0
		for i, p := range colours {
			if distance(c, p) < distance(c, colours[best]) {
				best = i
			}
		}
		nearest[c] = uint8(best)
	}
	entries := make(color.Palette, len(colours))
	for i, c := range colours {
		entries[i] = c
	}
	small := image.NewPaletted(bounds, entries)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(picture, x, y)])
		}
	}
	return small, d
}

func at(picture image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
}

// palette returns the most frequent colours that are further than d apart, and d.
func palette(counts map[color.NRGBA]int) ([]color.NRGBA, int) {
	colours := make([]color.NRGBA, 0, len(counts))
	for c := range counts {
		colours = append(colours, c)
	}
	slices.SortFunc(colours, func(a, b color.NRGBA) int {
		return cmp.Or(counts[b]-counts[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B), int(a.A)-int(b.A))
	})
	for d := 0; ; d++ {
		var chosen []color.NRGBA
		for _, c := range colours {
			if !slices.ContainsFunc(chosen, func(p color.NRGBA) bool { return distance(c, p) <= d }) {
				chosen = append(chosen, c)
			}
			if len(chosen) > most {
				break
			}
		}
		if len(chosen) <= most {
			return chosen, d
		}
	}
}

func distance(a, b color.NRGBA) int {
	apart := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(apart(a.R, b.R), apart(a.G, b.G), apart(a.B, b.B), apart(a.A, b.A))
}

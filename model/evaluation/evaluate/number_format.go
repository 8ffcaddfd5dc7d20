package evaluate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// significant writes three significant digits without an exponent down to
// 0.0001; smaller numbers get one.
func significant(v float64) string {
	switch size := math.Abs(v); {
	case v == 0:
		return "0"
	case size < 1e-4 || size >= 1e6:
		return strconv.FormatFloat(v, 'e', 1, 64)
	default:
		// The exponent after rounding: 0.99999 is 1.00.
		_, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
		magnitude, err := strconv.Atoi(exponent)
		if err != nil { // NaN or infinite
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return strconv.FormatFloat(v, 'f', max(2-magnitude, 0), 64)
	}
}

func seconds(v float64) string {
	if v == 0 {
		return "–"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// plain is a number with the digits that the paper prints.
func plain(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// percent is a signed ratio.
func percent(v float64) string { return fmt.Sprintf("%+.1f %%", 100*v) }

// between is an interval, a dash for none.
func between(ends *[2]float64) string {
	if ends == nil {
		return "–"
	}
	return significant(ends[0]) + "…" + significant(ends[1])
}

package dependencies

import (
	"strconv"
	"strings"
)

// OrdinalOf returns the ordinal of a pod named <set>-<ordinal>. The controllers create no name with leading zeros.
func OrdinalOf(set, pod string) (ordinal int32, belongs bool) {
	rest, belongs := strings.CutPrefix(pod, set+"-")
	number, err := strconv.ParseUint(rest, 10, 31)
	if !belongs || err != nil || strconv.FormatUint(number, 10) != rest {
		return 0, false
	}
	return int32(number), true //nolint:gosec // 31 bits
}

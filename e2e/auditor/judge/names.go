package judge

import (
	"strconv"
	"strings"
)

// OrdinalOf parses the ordinal of a pod's name. A pod counts by its name alone: a pod of that name that another
// controller or user created writes to the same claims.
func OrdinalOf(pod, set string) (int32, bool) {
	rest, ok := strings.CutPrefix(pod, set+"-")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(rest, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != rest {
		return 0, false
	}
	return int32(n), true
}

// PodName returns the name of an ordinal's pod.
func PodName(set string, ordinal int32) string {
	return set + "-" + strconv.Itoa(int(ordinal))
}

// VolumeKeyOf parses template and ordinal of a claim's name.
func VolumeKeyOf(claim, set string, templates []string) (VolumeKey, bool) {
	for _, template := range templates {
		rest, ok := strings.CutPrefix(claim, template+"-")
		if !ok {
			continue
		}
		if ordinal, ok := OrdinalOf(rest, set); ok {
			return VolumeKey{Ordinal: ordinal, Template: template}, true
		}
	}
	return VolumeKey{}, false
}

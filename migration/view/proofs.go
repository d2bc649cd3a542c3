package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// ProofsText returns which ordinals run on copies that are not proven yet, and which of these differ from the volumes
// that they have left; empty if there are none.
func ProofsText(m *api.Migration) string {
	var reads, differ []string
	for _, proof := range m.Status.Proofs {
		ordinal := strconv.Itoa(int(proof.Ordinal))
		if slices.ContainsFunc(proof.Volumes, func(v api.HandoffVolume) bool { return v.Copy.OwesProof() && v.Copy.Seal.Proof.Root != "" }) {
			differ = append(differ, ordinal)
		} else {
			reads = append(reads, ordinal)
		}
	}
	var parts []string
	if len(reads) > 0 {
		parts = append(parts, fmt.Sprintf("%s on copies that are not proven yet: %s", Count(len(reads), "ordinal"), strings.Join(reads, ", ")))
	}
	if len(differ) > 0 {
		parts = append(parts, fmt.Sprintf("%s on copies that differ: %s", Count(len(differ), "ordinal"), strings.Join(differ, ", ")))
	}
	return strings.Join(parts, "; ")
}

package move

import (
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// methodsOf are the methods of claim templates, for a comparison.
func methodsOf(volumes []api.VolumeSpec) string {
	var words []string
	for _, v := range volumes {
		if v.Method != "" && v.Method != api.MethodRebind {
			words = append(words, v.ClaimTemplate+"="+strings.ToLower(string(v.Method)))
		}
	}
	if len(words) == 0 {
		return "rebind"
	}
	return strings.Join(words, ",")
}

// say takes a person's word about claim templates over into the spec of a migration that is under way.
func say(volumes []api.VolumeSpec, asked []api.VolumeSpec) {
	for i := range volumes {
		for _, with := range asked {
			if with.ClaimTemplate == volumes[i].ClaimTemplate && with.Method == volumes[i].Method {
				volumes[i].Empty = with.Empty
			}
		}
	}
}

// returning is what is asked of volumes with the word that ordinals may go back to those that they
// have left.
func returning(volumes []api.VolumeSpec) []api.VolumeSpec {
	for i := range volumes {
		if volumes[i].Method == api.MethodEmpty {
			volumes[i].Empty.ReturnsToKept = true
		}
	}
	return volumes
}

package move

import (
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const (
	flagVolume = "volume"
	volumeHelp = "how the data of a claim template moves, as `TEMPLATE=METHOD` (repeatable): rebind, or empty,WORD,... with what you know of the application: fills-from-peers, ready-when-filled, returns-to-kept"
)

// methodWords are the methods by the words of --volume.
var methodWords = map[string]api.VolumeMethod{"rebind": api.MethodRebind, "empty": api.MethodEmpty}

// readVolume reads one --volume into what is asked for of its claim template.
func readVolume(text string, of func(template string) *api.VolumeSpec) error {
	template, rest, _ := strings.Cut(text, "=")
	words := strings.Split(rest, ",")
	method, known := methodWords[words[0]]
	if template == "" || !known {
		return command.Usagef("--%s must be TEMPLATE=METHOD, with method rebind or empty, not %q", flagVolume, text)
	}
	asked := of(template)
	asked.Method = method
	for _, word := range words[1:] {
		switch said := &asked.Empty; {
		case method == api.MethodEmpty && word == "fills-from-peers":
			said.FillsFromPeers = true
		case method == api.MethodEmpty && word == "ready-when-filled":
			said.ReadyWhenFilled = true
		case method == api.MethodEmpty && word == "returns-to-kept":
			said.ReturnsToKept = true
		default:
			return command.Usagef("--%s %s: %q is none of what can be said of method empty: fills-from-peers, ready-when-filled, returns-to-kept", flagVolume, text, word)
		}
	}
	return nil
}

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

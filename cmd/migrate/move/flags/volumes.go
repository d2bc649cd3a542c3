package flags

import (
	"strings"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// volumeHelp is what --volume is for.
const volumeHelp = "how the data of a claim template moves, as `TEMPLATE=METHOD` (repeatable): rebind, or empty,WORD,... with what you know of the application: fills-from-peers, ready-when-filled, returns-to-kept"

// methodWords are the methods by the words of --volume.
var methodWords = map[string]api.VolumeMethod{"rebind": api.MethodRebind, "empty": api.MethodEmpty}

// readVolume reads one --volume into what is asked for of its claim template.
func readVolume(text string, of func(template string) *api.VolumeSpec) error {
	template, rest, _ := strings.Cut(text, "=")
	words := strings.Split(rest, ",")
	method, known := methodWords[words[0]]
	if template == "" || !known {
		return command.Usagef("--%s must be TEMPLATE=METHOD, with method rebind or empty, not %q", Volume, text)
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
			return command.Usagef("--%s %s: %q is none of what can be said of method empty: fills-from-peers, ready-when-filled, returns-to-kept", Volume, text, word)
		}
	}
	return nil
}

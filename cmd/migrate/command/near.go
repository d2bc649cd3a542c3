package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// Near returns the names that are similar to a mistyped one.
func Near(name string, names []string) []string {
	known := &cobra.Command{SuggestionsMinimumDistance: mostMistyped}
	for _, each := range names {
		known.AddCommand(&cobra.Command{Use: each, Run: func(*cobra.Command, []string) {}})
	}
	return known.SuggestionsFor(name)
}

// DidYouMean returns a suggestion such as "; did you mean web?", or an empty string if no name is similar.
func DidYouMean(name string, names []string) string {
	near := Near(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

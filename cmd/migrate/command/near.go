package command

import (
	"strings"

	"github.com/spf13/cobra"
)

// Near returns those names that may have been meant by a mistyped one.
func Near(name string, names []string) []string {
	known := &cobra.Command{SuggestionsMinimumDistance: mostMistyped}
	for _, each := range names {
		known.AddCommand(&cobra.Command{Use: each, Run: func(*cobra.Command, []string) {}})
	}
	return known.SuggestionsFor(name)
}

// DidYouMean asks for the names that may have been meant by a mistyped one, as "; did you mean web?"; empty: there are none.
func DidYouMean(name string, names []string) string {
	near := Near(name, names)
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

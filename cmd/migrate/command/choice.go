package command

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Choice is a flag that accepts one of several words.
type Choice struct {
	// Value is the given word.
	Value   string
	allowed []string
	// store stores the value of the nth word in a field of the API; nil if there is none.
	store func(nth int)
}

// NewChoice returns a Choice with a default value.
func NewChoice(value string, allowed ...string) *Choice {
	return &Choice{Value: value, allowed: allowed}
}

// ChoiceOf returns a Choice that sets a field of the API to one of its values: see Word. The help shows the default; the
// field is not written until the flag is given.
func ChoiceOf[T ~string](field *T, standard T, values ...T) *Choice {
	c := NewChoice(Word(standard))
	for _, value := range values {
		c.allowed = append(c.allowed, Word(value))
	}
	c.store = func(nth int) { *field = values[nth] }
	return c
}

// between matches the border between two words in a value of the API.
var between = regexp.MustCompile(`([a-z])([A-Z])`)

// Word returns a value of the API as flags spell it: lowest-first for LowestFirst.
func Word[T ~string](value T) string {
	return strings.ToLower(between.ReplaceAllString(string(value), "$1-$2"))
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value. The help shows it.
func (c *Choice) Type() string { return strings.Join(c.allowed, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(value string) error {
	value = strings.ToLower(value)
	nth := slices.Index(c.allowed, value)
	if nth < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.Value = value
	if c.store != nil {
		c.store(nth)
	}
	return nil
}

// AddOutput adds the flag --output to a command. The first format is the default.
func AddOutput(cmd *cobra.Command, formats ...string) *Choice {
	output := NewChoice(formats[0], formats...)
	cmd.Flags().VarP(output, "output", "o", "format of the output")
	return output
}

package command

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a flag that takes one of a few words.
type Choice struct {
	// Value is the word that was given.
	Value   string
	allowed []string
}

// NewChoice is a flag with a default.
func NewChoice(value string, allowed ...string) *Choice { return &Choice{value, allowed} }

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value: it is what the help shows.
func (c *Choice) Type() string { return strings.Join(c.allowed, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(value string) error {
	value = strings.ToLower(value)
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.Value = value
	return nil
}

package command

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a flag that accepts one of several words.
type Choice struct {
	// Value is the given word.
	Value   string
	allowed []string
}

// NewChoice returns a Choice with a default value.
func NewChoice(value string, allowed ...string) *Choice { return &Choice{value, allowed} }

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value. The help shows it.
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

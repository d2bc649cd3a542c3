package main

import (
	"fmt"
	"slices"
	"strings"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value   string
	allowed []string
}

func newChoice(value string, allowed ...string) *choice { return &choice{value, allowed} }

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value: it is what the help shows.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// Set implements pflag.Value.
func (c *choice) Set(value string) error {
	value = strings.ToLower(value)
	if !slices.Contains(c.allowed, value) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = value
	return nil
}

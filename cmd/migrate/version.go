package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/internal/version"
)

// versionOptions are those of the verb version.
type versionOptions struct {
	*common
	output *choice
}

func newVersion(c *common) *cobra.Command {
	o := &versionOptions{common: c, output: newChoice("", "json", "yaml")}
	cmd := c.command(o, &cobra.Command{
		Use:     "version",
		Short:   "Print which build this is",
		Example: "  migrate version -o json",
	})
	cmd.Flags().VarP(o.output, "output", "o", "format of the output")
	return cmd
}

// Run prints the version.
func (o *versionOptions) Run(context.Context) error {
	return printAs(o.Out, o.output.value, version.Get(), o.line)
}

// line writes it for people.
func (o *versionOptions) line(info version.Info) error {
	line := "migrate " + info.Version
	if info.Commit != "" {
		line += " (" + info.Commit + ")"
	}
	_, err := fmt.Fprintf(o.Out, "%s, %s\n", line, info.Go)
	return err
}

// ownCommands are those about the program.
func ownCommands(c *common) []*cobra.Command { return []*cobra.Command{newVersion(c)} }

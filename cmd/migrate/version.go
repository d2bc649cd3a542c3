package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/version"
)

// versionOptions are those of the command version.
type versionOptions struct {
	*command.Common
	output *command.Choice
}

func newVersion(c *command.Common) *cobra.Command {
	o := &versionOptions{Common: c, output: command.NewChoice("", "json", "yaml")}
	cmd := c.Command(o, &cobra.Command{
		Use:     "version",
		Short:   "Print which build this is",
		Example: "  migrate version -o json",
	})
	cmd.Flags().VarP(o.output, "output", "o", "format of the output")
	return cmd
}

// Run prints the version.
func (o *versionOptions) Run(context.Context) error {
	return terminal.Print(o.Out, o.output.Value, version.Get(), o.line)
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
func ownCommands(c *command.Common) []*cobra.Command { return []*cobra.Command{newVersion(c)} }

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/version"
)

// versionOptions are the options of the command version.
type versionOptions struct {
	*command.Common
	output *command.Choice
}

func newVersion(c *command.Common) *cobra.Command {
	o := &versionOptions{Common: c, output: command.NewChoice("", "json", "yaml")}
	cmd := c.Command(o, &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		Long: `Prints the version, the commit that the program was built from and when that was made, and
the version of Go. A program that was built outside of a checkout knows no commit.`,
		Example: "  migrate version -o json",
	})
	cmd.Flags().VarP(o.output, "output", "o", "format of the output")
	return cmd
}

// Run prints the version.
func (o *versionOptions) Run(context.Context) error {
	return terminal.Print(o.Out, o.output.Value, version.Get(), o.line)
}

// line prints the version as text.
func (o *versionOptions) line(info version.Info) error {
	_, err := fmt.Fprintf(o.Out, "migrate %s%s, %s\n", info.Version, origin(info), info.Go)
	return err
}

// origin returns the known commit, date and changes of the build.
func origin(info version.Info) string {
	var known []string
	for _, word := range []string{info.Commit, info.Date} {
		if word != "" {
			known = append(known, word)
		}
	}
	if info.Modified {
		known = append(known, "with changes")
	}
	if len(known) == 0 {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}

// ownCommands returns the commands about the program.
func ownCommands(c *command.Common) []*cobra.Command {
	return command.In(command.Installing, newVersion(c))
}

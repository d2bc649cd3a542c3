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
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print which build this is",
		Example: c.example("  migrate version -o json"),
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	cmd.Flags().VarP(o.output, "output", "o", "format of the output")
	return cmd
}

// Run prints the version.
func (o *versionOptions) Run(context.Context) error {
	info := version.Get()
	if o.output.value != "" {
		return printData(o.Out, o.output.value, info)
	}
	line := "migrate " + info.Version
	if info.Commit != "" {
		line += " (" + info.Commit + ")"
	}
	_, err := fmt.Fprintf(o.Out, "%s, %s\n", line, info.Go)
	return err
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, %q was given", cmd.CommandPath(), args[0])
	}
	return nil
}

package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
)

// options are the options of the command explain.
type options struct {
	*command.Common
	output *command.Choice
	reason string
	found  Entry
}

const help = `Explains a reason that a Migration, a run or a check shows: its meaning, why it matters, and
what to do. It needs no cluster. Without a reason it lists all of them.`

const examples = `  # What a reason means, and what to do
  migrate explain PodNotReady

  # All reasons
  migrate explain`

// New returns the command explain.
func New(c *command.Common) *cobra.Command {
	o := &options{Common: c}
	cmd := c.Command(o, &cobra.Command{Use: "explain [REASON]", Short: "Explain a reason, and what to do about it", Long: help, Example: examples})
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return reasons(Entries()), cobra.ShellCompDirectiveNoFileComp
	}
	o.output = command.AddOutput(cmd, "table", "json", "yaml")
	return cmd
}

func reasons(all []Entry) []string {
	names := make([]string, 0, len(all))
	for _, e := range all {
		names = append(names, e.Reason)
	}
	return names
}

// Complete reads the reason.
func (o *options) Complete(cmd *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
	case 1:
		o.reason = args[0]
	default:
		return command.Usagef("%s takes one reason, %d were given", cmd.CommandPath(), len(args))
	}
	return nil
}

// Validate rejects an unknown reason.
func (o *options) Validate() error {
	if o.reason == "" {
		return nil
	}
	all := Entries()
	for _, e := range all {
		if strings.EqualFold(e.Reason, o.reason) {
			o.found = e
			return nil
		}
	}
	return command.Usagef("no reason is called %q%s", o.reason, command.DidYouMean(o.reason, reasons(all)))
}

// Run explains the reason, or lists all reasons.
func (o *options) Run(context.Context) error {
	if o.reason == "" {
		return terminal.Print(o.Out, o.output.Value, Entries(), o.list)
	}
	return terminal.Print(o.Out, o.output.Value, o.found, o.text)
}

func (o *options) list(all []Entry) error {
	t := terminal.Table{Head: []string{"REASON", "MEANS"}}
	for _, e := range all {
		first, _, _ := strings.Cut(e.Meaning, ". ")
		for nth, line := range terminal.Wrap(strings.TrimSuffix(first, "."), o.Width()-widestReason) {
			t.Add(nil, map[bool]string{true: e.Reason}[nth == 0], line)
		}
	}
	return t.Write(o.Out, o.Paint())
}

const (
	// widestReason is the width of the reason in the list, and titleWidth that of the titles in an entry.
	widestReason = 32
	titleWidth   = 16
)

// text prints an entry as text, within the width of the terminal.
func (o *options) text(e Entry) error {
	var b strings.Builder
	b.WriteString(o.Paint().Bold(e.Reason) + "\n")
	part := func(title, text string) {
		if text == "" {
			return
		}
		for paragraph := range strings.SplitSeq(text, "\n") {
			for _, line := range terminal.Wrap(paragraph, o.Width()-titleWidth-1) {
				fmt.Fprintf(&b, "%s%s\n", terminal.Pad(title, titleWidth), line)
				title = ""
			}
		}
	}
	remedy := e.Remedy
	if remedy == "" {
		remedy = "There is nothing to do."
	}
	part("Meaning", e.Meaning)
	part("Why it matters", e.Why)
	part("Look", e.Look)
	part("Fix", remedy)
	part("Continues alone", e.ByItself)
	for _, c := range e.More {
		when := c.When
		if when != "" {
			when += ": "
		}
		part("Also", when+c.Text)
	}
	part("More", e.URL)
	_, err := fmt.Fprint(o.Out, b.String())
	return err
}

// Commands returns the command explain, as a group.
func Commands(c *command.Common) []*cobra.Command { return command.In(command.Looking, New(c)) }

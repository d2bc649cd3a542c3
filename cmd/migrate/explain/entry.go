// Package explain explains the reasons in the status of Migrations, from the page of each reason.
package explain

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/docs"
)

// folder is the URL of the pages.
const folder = "https://github.com/sliceshift/sliceshift/blob/main/docs/reasons/"

// Entry explains one reason.
type Entry struct {
	Reason string `json:"reason"`
	// Meaning states the meaning of the reason.
	Meaning string `json:"meaning"`
	// Why states why the reason stops, delays or endangers a move; empty if it does none of these.
	Why string `json:"why,omitempty"`
	// Look states where to look, and Remedy how to fix it; both are empty if no action is needed.
	Look   string `json:"look,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// ByItself states whether the move then continues without a command.
	ByItself string `json:"byItself,omitempty"`
	// More lists special cases.
	More []Case `json:"more,omitempty"`
	URL  string `json:"url"`
}

// Case is a special case of a reason.
type Case struct {
	When string `json:"when"`
	Text string `json:"text"`
}

// Entries returns an entry for each reason, by name.
func Entries() []Entry {
	pages, err := fs.Glob(docs.Reasons, "reasons/*.md")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	all := make([]Entry, 0, len(pages))
	for _, page := range pages {
		text, err := docs.Reasons.ReadFile(page)
		if err != nil {
			panic(err) // the file is part of the program
		}
		all = append(all, entryOf(strings.TrimSuffix(path.Base(page), ".md"), string(text)))
	}
	return all
}

// point matches the beginning of a line that has a title.
var point = regexp.MustCompile(`^- \*\*(.+?):\*\* ?`)

func entryOf(reason, page string) Entry {
	e := Entry{Reason: reason, URL: folder + reason + ".md"}
	_, body, _ := strings.Cut(page, "\n")
	title, text := "", ""
	for line := range strings.Lines(body + "\n\n") {
		line = strings.TrimSpace(line)
		begins := point.FindStringSubmatch(line)
		switch {
		case begins != nil:
			e.add(title, text)
			title, text = begins[1], line[len(begins[0]):]
		case line == "":
			e.add(title, text)
			title, text = "", ""
		default:
			text = strings.TrimSpace(text + " " + line)
		}
	}
	return e
}

// add adds one part of an entry. A second part with the same title becomes a Case.
func (e *Entry) add(title, text string) {
	if text == "" {
		return
	}
	text = plain(text)
	part := e.part(title)
	switch {
	case part != nil && *part == "":
		*part = text
	case part != nil && title == "":
		*part += "\n" + text
	default:
		e.More = append(e.More, Case{When: plain(title), Text: text})
	}
}

// part returns the field for a title, or nil if the title is a Case.
func (e *Entry) part(title string) *string {
	switch title {
	case "":
		return &e.Meaning
	case "Why":
		return &e.Why
	case "Look":
		return &e.Look
	case "Fix":
		return &e.Remedy
	case "Continues alone":
		return &e.ByItself
	}
	return nil
}

// link matches a Markdown link.
var link = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// plain removes Markdown from a text. Commands keep their quotes.
func plain(text string) string {
	return strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "**", "")
}

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

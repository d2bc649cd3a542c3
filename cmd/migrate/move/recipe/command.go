package recipe

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

// listOptions are the options of the command recipes.
type listOptions struct {
	*command.Common
	output *command.Choice
}

const listHelp = `Lists the recipes for systems that run as StatefulSets, for --recipe of create, run, plan
and preflight. A recipe has the gates before a member is stopped and after it has started,
the order in which members move, the names that they need, and what to avoid meanwhile.

TRIED shows whether the recipe has moved the system under load and the data was judged; a
recipe that was not tried was written from the texts that it cites.`

const listExamples = `  # All recipes
  migrate recipes

  # One recipe, with its parameters
  migrate recipes show etcd

  # Move with it
  migrate run etcd -n shop --context east --to-context west --recipe etcd`

// New returns the command recipes, with the subcommand show.
func New(c *command.Common) *cobra.Command {
	o := &listOptions{Common: c}
	cmd := c.Command(o, &cobra.Command{Use: "recipes", Short: "List the recipes for systems that move", Long: listHelp, Example: listExamples})
	o.output = command.AddOutput(cmd, "table", "json", "yaml")
	cmd.AddCommand(newShow(c))
	return cmd
}

// row is one line of the list.
type row struct {
	Name    string              `json:"name"`
	Aliases []string            `json:"aliases,omitempty"`
	Title   string              `json:"title"`
	Trial   recipes.TrialStatus `json:"trial"`
	Summary string              `json:"summary"`
}

// Run lists the recipes.
func (o *listOptions) Run(context.Context) error {
	all, err := All()
	if err != nil {
		return err
	}
	rows := make([]row, 0, len(all))
	for _, r := range all {
		rows = append(rows, row{r.Name, r.Aliases, r.Title, r.Trial.Status, r.Summary})
	}
	return terminal.Print(o.Out, o.output.Value, rows, o.table)
}

func (o *listOptions) table(rows []row) error {
	t := terminal.Table{Head: []string{"NAME", "TRIED", "SYSTEM", "SUMMARY"}}
	for _, r := range rows {
		tried, colour := "no", o.Paint().Yellow
		if r.Trial == recipes.Tried {
			tried, colour = "yes", o.Paint().Green
		}
		t.Add(colour, r.Name, tried, r.Title, r.Summary)
	}
	return t.Write(o.Out, o.Paint())
}

// showOptions are the options of the command recipes show.
type showOptions struct {
	*command.Common
	name   string
	output *command.Choice
}

const showHelp = `Shows a recipe: its trial, its parameters, its gates and hooks with their reasons, the
conditions before the move, what to avoid meanwhile, and its sources.

With -o yaml it prints a file that --recipe takes, to change for a system with another
setup.`

const showExamples = `  # For people
  migrate recipes show postgresql

  # To change it
  migrate recipes show postgresql -o yaml > ours.yaml
  migrate plan db -n shop --context east --to-context west --recipe ./ours.yaml --recipe-set image=registry.example/postgres:18

  # How a Migration looks with it
  migrate create db -n shop --destination-secret west --recipe etcd --dry-run=client -o yaml`

func newShow(c *command.Common) *cobra.Command {
	o := &showOptions{Common: c}
	cmd := c.Command(o, &cobra.Command{Use: "show (NAME | FILE)", Short: "Show a recipe", Long: showHelp, Example: showExamples})
	o.output = command.AddOutput(cmd, "text", "json", "yaml")
	return cmd
}

// Complete reads the name.
func (o *showOptions) Complete(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return command.Usagef("%s takes one recipe, %d were given", cmd.CommandPath(), len(args))
	}
	o.name = args[0]
	return nil
}

// Run shows the recipe.
func (o *showOptions) Run(context.Context) error {
	r, err := Find(o.name)
	if err != nil {
		return err
	}
	return terminal.Print(o.Out, o.output.Value, r, func(r recipes.Recipe) error {
		return Write(o.Out, o.Paint(), r)
	})
}

// width is the maximal width of the text.
const width = 100

// Write prints a recipe as text.
func Write(out io.Writer, paint terminal.Painter, r recipes.Recipe) error {
	w := &page{paint: paint}
	w.line(paint.Bold(r.Title))
	w.text("", r.Summary)
	w.head("Tried")
	if r.Trial.Status == recipes.Tried {
		w.text("", fmt.Sprintf("yes: %s; %s. Again: %s", r.Trial.What, r.Trial.Versions, r.Trial.By))
	} else {
		w.text("", "no: it was written from its sources")
	}
	if stated := r.Rehearsal; stated != nil {
		w.head("Rehearsal")
		w.text("", string(stated.Verdict)+": "+stated.Why)
	}
	w.parameters(r.Parameters)
	w.settings(r.Settings)
	w.head("Asked")
	for _, g := range r.Gates {
		w.text("", paint.Bold(fmt.Sprint(g.Gate["name"]))+"  "+g.Asked())
		w.text("  ", g.Why)
	}
	if len(r.Hooks) > 0 {
		w.head("Done")
	}
	for _, h := range r.Hooks {
		w.text("", paint.Bold(fmt.Sprint(h.Hook["name"]))+"  "+h.Run())
		w.text("  ", h.Why)
	}
	w.advice("Before the move", r.Needs)
	w.advice("Never", r.Never)
	w.head("Limits")
	for _, limit := range r.Limits {
		w.text("", "- "+limit)
	}
	w.head("Sources")
	for _, s := range r.Sources {
		w.line("  " + s.Title + "\n  " + paint.Dim(s.URL))
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// page collects a text.
type page struct {
	strings.Builder
	paint terminal.Painter
}

func (w *page) line(text string) { w.WriteString(text + "\n") }

func (w *page) head(title string) { w.line("\n" + w.paint.Bold(title)) }

// text adds wrapped text with an indent.
func (w *page) text(indent, text string) {
	for _, line := range terminal.Wrap(text, width-2-len(indent)) {
		w.line("  " + indent + line)
	}
}

func (w *page) parameters(all []recipes.Parameter) {
	if len(all) == 0 {
		return
	}
	w.head("Parameters (--" + FlagSet + ")")
	for _, p := range all {
		is := "must be given, such as " + p.Example
		if p.Default != nil {
			is = "default " + p.Shown()
		}
		w.text("", fmt.Sprintf("%s (%s, %s)", w.paint.Bold(p.Name), p.Type, is))
		w.text("  ", p.Says)
	}
}

func (w *page) settings(s recipes.Settings) {
	w.head("Settings")
	w.text("", strings.Join(s.Words(), ", "))
	w.text("", s.Why)
}

func (w *page) advice(title string, all []recipes.Advice) {
	w.head(title)
	for _, a := range all {
		w.text("", "- "+a.What)
		w.text("  ", a.Why)
	}
}

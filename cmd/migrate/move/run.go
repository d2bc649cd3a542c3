package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/preflight"
	"github.com/sliceshift/sliceshift/migration/view"
)

// runOptions are the options of the command run.
type runOptions struct {
	moveOptions
	output *command.Choice
	log    string
	quiet  bool
	// verbose shows writes and waits on a terminal.
	verbose     bool
	timeout     time.Duration
	exitOnStall bool
	detach      bool
}

const runHelp = `Moves a StatefulSet from here: the engine runs in this process, and nothing needs to be
installed in either cluster. It keeps its record in a ConfigMap beside the StatefulSet, so
a run that was interrupted continues where it was when you call it again.

Everything is checked before the first write; a move that cannot be safe is refused and
nothing is changed. When something outside must change first, the run says what and
waits: it continues once the cause is fixed.

On a terminal it shows both slices below the events. An order is a word and Enter: pause,
resume or rollback; one that reverses the move asks for the StatefulSet's name.

With --detach the move continues without the terminal, as a process of its own on this
machine. The command prints the file with its output, and how to watch and to stop it.

Exit codes: 0 done, 1 error or interrupted, 2 usage, 3 refused or stalled, 4 timeout.`

const runExamples = `  # To another cluster
  migrate run web -n shop --context east --to-context west

  # Two ordinals only, each Ready for a minute before the next; then stay split
  migrate run web -n shop --context east --to-context west --count 2 --min-ready 1m

  # Unattended: give up at the first stall, or after two hours
  migrate run web -n shop --context east --to-context west --exit-on-stall --timeout 2h

  # With a log of each write, for a report afterwards
  migrate run web -n shop --context east --to-context west --log web.log

  # Change the storage in place, instead of a move
  migrate run web -n shop --context east --in-place --volume data=class=fast,image=IMAGE

  # Continue without this terminal: prints how to watch and to stop the move
  migrate run web -n shop --context east --to-context west --detach

  # For a program: one JSON object a line
  migrate run web -n shop --context east --to-context west -o json`

func newRun(c *command.Common) *cobra.Command {
	o := &runOptions{moveOptions: moveOptions{Common: c}}
	cmd := c.Command(o, &cobra.Command{
		Use: "run STATEFULSET", Short: "Move a StatefulSet from here, or continue a move",
		Long: runHelp, Example: runExamples,
	})
	flags := cmd.Flags()
	o.to.Add(flags)
	o.spec.Add(flags)
	o.output = command.AddOutput(cmd, "text", "json")
	flags.StringVar(&o.log, "log", "", "append each event to this file, too, as one JSON object a line: see report --log")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print only errors and stalls, on stderr")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show each write and each wait on a terminal, too; elsewhere they are always shown")
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time; completed steps stay (default: never)")
	flags.StringVar(&o.resume, "resume-uid", "", "rebuild the record of the migration with this `UID`, whose record was deleted, from its marks on the objects, and continue it")
	flags.BoolVar(&o.exitOnStall, "exit-on-stall", false, "give up when something outside must change first, instead of waiting for it")
	flags.BoolVar(&o.detach, "detach", false, "continue without this terminal, as a process of its own that writes to a file")
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *runOptions) Validate() error {
	if o.quiet && o.verbose {
		return command.Usagef("--quiet and --verbose exclude each other")
	}
	if o.quiet && o.output.Value == "json" {
		return command.Usagef("--quiet and -o json exclude each other")
	}
	if err := command.ValidateTimeout(o.timeout); err != nil {
		return err
	}
	return o.moveOptions.Validate()
}

// Run moves the StatefulSet.
func (o *runOptions) Run(ctx context.Context) error {
	if o.detach {
		return o.leave(ctx)
	}
	return command.Within(ctx, o.timeout, o.run)
}

func (o *runOptions) run(ctx context.Context) error {
	writes := &drain.Writes{}
	t, m, stands, err := o.begin(ctx, writes.Wrap)
	if err != nil {
		return err
	}
	if stands == preview.Over {
		return o.alreadyOver(t, m)
	}
	d := progress.NewDisplay(o.Common, progress.Format{Kind: o.output.Value, Quiet: o.quiet, Verbose: o.verbose}, o.steering(ctx, t))
	if o.log != "" {
		if d, err = progress.WithLog(d, o.log, o.ErrOut); err != nil {
			return command.Usagef("--log: %v", err)
		}
	}
	defer d.Close()
	n := progress.NewTracker(o.Clock.Now(), m)
	if stands == preview.Beginning {
		if err := o.preflight(ctx, t, m, n, d); err != nil {
			if errors.Is(err, errNothingInPlace) {
				d.Show(n.Event(o.Clock.Now(), progress.Started, o.changing(t)+": there is nothing to do, "+err.Error()))
				return nil
			}
			return err
		}
	} else {
		if !o.inPlace() { // the set is recreated in place, and the engine knows both
			if err := t.verify(ctx, m); err != nil {
				return err
			}
		}
		d.Show(o.goingOn(t, m, n))
	}
	if err := t.save(ctx, m); err != nil {
		return err
	}
	o.sayBegun()
	return driver{Common: o.Common, task: t, tracker: n, display: d, writes: writes, mode: m.Spec.Mode, exitOnStall: o.exitOnStall}.drive(ctx)
}

// steering writes the commands that are typed during the run. A signal stops the run, but not a command that is being
// written.
func (o *runOptions) steering(ctx context.Context, t *task) progress.Steering {
	at := &storedMigration{connection: t.source, store: t.store, where: "ConfigMap " + t.store.Namespace + "/" + t.store.ObjectName(), record: true}
	order := named{Common: o.Common, name: o.set}
	return progress.Steering{Name: o.set, Interrupt: o.Interrupt, Steer: func(mode api.Mode) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), orderFor)
		defer cancel()
		return order.steer(ctx, at, mode)
	}}
}

// orderFor is the timeout for writing a command. The write is repeated if the record changes meanwhile.
const orderFor = time.Minute

func (o *runOptions) alreadyOver(t *task, m *api.Migration) error {
	if o.quiet {
		return nil
	}
	if o.inPlace() {
		_, err := fmt.Fprintf(o.Out, "The storage of StatefulSet %s/%s is changed already: %s. Its record is ConfigMap %s.\n", o.namespace, o.set, view.WordsOf(m).All, t.store.ObjectName())
		return err
	}
	_, err := fmt.Fprintf(o.Out, "StatefulSet %s/%s is moved already: %d of %d ordinals run at %s. Its record is ConfigMap %s.\n",
		o.namespace, o.set, m.Status.Moved, m.Status.Total, destinationName(t, m), t.store.ObjectName())
	if err == nil && m.Spec.Ordinals.Count != nil && o.requested.Spec.Ordinals.Count == nil {
		_, err = fmt.Fprintf(o.Out, "The move was for %d of them, and the application is split. To move the rest, begin another move: %s, and run again.\n",
			*m.Spec.Ordinals.Count, t.kubectl().Remove("configmap", t.store.Namespace, t.store.ObjectName()))
	}
	return err
}

// preflight runs all checks before the first write.
func (o *runOptions) preflight(ctx context.Context, t *task, m *api.Migration, n *progress.Tracker, d progress.Display) error {
	if o.inPlace() {
		return o.preflightInPlace(ctx, t, m, n, d)
	}
	snapshot, err := t.observe(ctx, m)
	if err != nil {
		return err
	}
	findings := preflight.Findings(snapshot)
	o.showFindings(findings, n, d)
	if refused := preview.Refusals(findings); refused > 0 {
		return command.Refusedf("the move of StatefulSet %s/%s is refused (%s); nothing has been changed", o.namespace, o.set, view.Count(refused, "error"))
	}
	text := fmt.Sprintf("moving StatefulSet %s/%s from cluster %s to %s", o.namespace, o.set, t.source.Name(), destinationName(t, m))
	if first := planner.Plan(snapshot); first.Record != nil && first.Record.Baseline != nil {
		base := first.Record.Baseline
		total := plan.Total(snapshot.Spec, base.Replicas-base.DestinationReplicas)
		n.Expect(total, base.Replicas)
		text += fmt.Sprintf(": %d of %d ordinals, disruption budget %d", total, base.Replicas, base.Budget)
	}
	d.Show(n.Event(o.Clock.Now(), progress.Started, text))
	return nil
}

// showFindings shows the findings of the checks.
func (o *runOptions) showFindings(findings []plan.Finding, n *progress.Tracker, d progress.Display) {
	if preview.Refusals(findings) > 0 && o.output.Value != "json" {
		// The findings are the reason of the error, so they are written to ErrOut.
		fmt.Fprint(o.ErrOut, preview.FindingsText(findings, terminal.Painter{On: o.Paint().On && o.Terminal()}))
		return
	}
	for _, f := range findings {
		e := n.Event(o.Clock.Now(), progress.Finding, f.Message)
		e.Reason, e.Remedy, e.Warning, e.Object = f.Reason, f.Remedy, f.Warning, f.Object
		d.Show(e)
	}
}

// destinationName returns a short and unambiguous name of the destination.
func destinationName(t *task, m *api.Migration) string {
	name := "cluster " + t.destination.Name()
	to := m.Spec.Destination
	if to.Namespace != m.Namespace || to.Name != m.Spec.Source.Name {
		name = to.Namespace + "/" + to.Name + " in " + name
	}
	return name
}

func (o *runOptions) goingOn(t *task, m *api.Migration, n *progress.Tracker) progress.Event {
	what := fmt.Sprintf("moving StatefulSet %s/%s from cluster %s to %s", o.namespace, o.set, t.source.Name(), destinationName(t, m))
	if o.inPlace() {
		what = o.changing(t)
	}
	words := view.WordsOf(m)
	text := []string{fmt.Sprintf("%s: continuing where it was, %d of %d %s", what, m.Status.Moved, m.Status.Total, words.Did)}
	switch m.Spec.Mode {
	case api.ModePause:
		text = append(text, "its mode is Pause: it waits for: "+o.Again("resume", o.set, o.namespace))
	case api.ModeRollback:
		text = append(text, "its mode is Rollback: "+words.Back+"; to reverse it: "+o.Again("resume", o.set, o.namespace))
	case api.ModeRecover:
		text = append(text, "its mode is Recover: "+words.Back+", and the destination is not asked; better: "+o.Again("recover", o.set, o.namespace))
	case api.ModeRun:
	}
	return n.Event(o.Clock.Now(), progress.Started, strings.Join(text, "\n"))
}

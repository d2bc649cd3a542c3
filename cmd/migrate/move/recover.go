package move

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/drain"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/look"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/preview"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/progress"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/clusters"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/volumes"
)

// recoverOptions are the options of the command recover.
type recoverOptions struct {
	dryRunnable
	off           string
	settled       bool
	sourceContext string
	quiet         bool
	exitOnStall   bool
}

const recoverHelp = `Takes every ordinal back to the source without the destination, which is lost for good:
on the same disks that were parked at the source when the ordinals left it. With Rebind
these have the writes of the destination. With Copy, Snapshot and Empty they have not changed
since the ordinals left, and all later writes are lost: --dry-run shows it. It works during
a move and after its end, as long as its record and the parked volumes exist, whether or
not the destination answers or is still in your kubeconfig.

ONLY YOU CAN KNOW that the destination is off. A cluster that does not answer may
still run every pod and write to every disk; started at the source as well, an ordinal
runs twice on one disk and destroys it. So first turn its machines off, or cut them off
from the storage, and make sure that they do not restart.

After a completed move, another one may have moved ordinals on from that cluster to a
third: they run there, on the disks that are parked here, and would run twice. So after
the end of a move the command also asks whether an ordinal was moved on. If another
Migration or the record of a run shows that, it recovers nothing.

The command shows the state of each disk and every step. Then it asks for confirmation on
the terminal; or --destination-is-off has the UID of that cluster and, after the end of a
move, --nothing-moved-on is set. It drives a move with "run" to its end; for a Migration
it sets the mode, and the manager does the rest.

Exit codes: 0 done, 1 error or interrupted, 2 usage or not confirmed, 3 refused or
stalled, 4 timeout.`

const recoverExamples = `  # The state of each disk, and each step; writes nothing
  migrate recover web -n shop --context east --dry-run

  # Do it: asks for the words that confirm it
  migrate recover web -n shop --context east

  # Unattended; the UID is in the output of the dry run
  migrate recover web -n shop --context east --destination-is-off=3f0c5a52-6a1e-4d57-9a0e-0f5b8b6a1c11

  # A Migration whose source is not in the manager's cluster
  migrate recover web -n shop --context hub --source-context east --wait`

func newRecover(c *command.Common) *cobra.Command {
	o := &recoverOptions{dryRunnable: newDryRunnable(c)}
	cmd := c.Command(o, &cobra.Command{
		Use: "recover NAME", Short: "Take every ordinal back to the source when the destination is lost for good",
		Long: recoverHelp, Example: recoverExamples,
	})
	flags := cmd.Flags()
	flags.StringVar(&o.off, "destination-is-off", "", "confirm, without being asked, that nothing runs any more in the cluster whose namespace kube-system has this `UID`")
	flags.BoolVar(&o.settled, "nothing-moved-on", false, "confirm, without being asked, that no ordinal was moved on from the destination since the move was completed")
	flags.StringVar(&o.sourceContext, "source-context", "", "context of the source's cluster, when the Migration is in another one")
	flags.BoolVar(&o.dryRun, "dry-run", false, "show the state of each disk and each step; write nothing")
	flags.VarP(o.output, "output", "o", "format of the dry run")
	flags.BoolVar(&o.wait, "wait", false, "of a Migration: wait until it is completed")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print only errors and stalls, on stderr")
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time; completed steps stay (default: never)")
	flags.BoolVar(&o.exitOnStall, "exit-on-stall", false, "give up when something outside must change first, instead of waiting for it")
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *recoverOptions) Validate() error {
	if o.dryRun && o.wait {
		return command.Usagef("--dry-run and --wait exclude each other")
	}
	return o.dryRunnable.Validate()
}

// Run shows the known facts, asks for confirmation, and recovers.
func (o *recoverOptions) Run(ctx context.Context) error {
	return command.Within(ctx, o.timeout, o.run)
}

func (o *recoverOptions) run(ctx context.Context) error {
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	switch completed := records.Completed(k.Migration); {
	case completed == api.ReasonRecovered || completed == api.ReasonRolledBack:
		fmt.Fprintf(o.Out, "%s is completed (%s): every ordinal runs at the source\n", k.title(), completed)
		return nil
	case k.Status.Baseline == nil:
		return command.Refusedf("%s: %s: no ordinal has left the source: the migration has not begun", k.title(), api.ReasonNothingToRecover)
	}
	id := string(k.Status.Baseline.DestinationCluster)
	if o.off != "" && o.off != id {
		return command.Usagef("--destination-is-off=%s: the destination of %s is cluster %s, whose namespace kube-system has the UID %s", o.off, k.title(), preview.LostCluster(k.Migration), id)
	}
	d, err := o.examine(ctx, k)
	if err != nil {
		return err
	}
	if err := o.show(d); err != nil {
		return err
	}
	switch {
	case len(d.Running) > 0:
		return command.Refusedf("cluster %s answers, and has pods of the application: it is not off; to give it up all the same, "+
			"delete StatefulSet %s there first; if the cluster works: %s", d.Destination.Cluster, d.Destination.StatefulSet, o.back(k))
	case d.Stalled != nil && (o.dryRun || len(d.Steps) == 0):
		return command.Refusedf("the recovery would stall: %s: %s", d.Stalled.Reason, d.Stalled.Message)
	case o.dryRun:
		return nil
	}
	if err := o.confirmed(ctx, k, d); err != nil {
		return err
	}
	change := records.Change{Mode: api.ModeRecover, Recovery: &api.RecoverySpec{DestinationIsOff: id, NothingMovedOn: wasMoved(k) || k.Spec.Recovery.NothingMovedOn}}
	if err := k.change(ctx, change); err != nil {
		return err
	}
	if k.record {
		return o.drive(ctx, k)
	}
	fmt.Fprintf(o.Out, "%s is being recovered\n", k.title())
	if !o.wait {
		return nil
	}
	waiting := &modeOptions{named: o.named, mode: api.ModeRecover}
	return waiting.await(ctx, k)
}

func (o *recoverOptions) show(d preview.Recovery) error {
	if o.quiet && !o.dryRun {
		return nil
	}
	return terminal.Print(o.Out, o.output.Value, d, o.printer().Recovery)
}

// examine reads the source and probes the destination. It writes nothing.
func (o *recoverOptions) examine(ctx context.Context, k *storedMigration) (preview.Recovery, error) {
	source, err := o.sourceOf(ctx, k)
	if err != nil {
		return preview.Recovery{}, err
	}
	m := k.DeepCopy()
	m.Spec.Mode, m.Spec.Recovery = api.ModeRecover, api.RecoverySpec{DestinationIsOff: string(m.Status.Baseline.DestinationCluster), NothingMovedOn: true}
	off, err := clusters.Off(preview.LostCluster(m))
	if err != nil {
		return preview.Recovery{}, err
	}
	e := engine.NewEngine(m, engine.Options{Source: source, Destination: off, Records: k.store, Holder: "dry-run", Policy: volumes.Unrestricted()})
	defer e.Close()
	snapshot, err := e.Look(ctx, m)
	if err != nil {
		return preview.Recovery{}, command.Unreachable(source.Name(), err)
	}
	if err := look.Seen(snapshot.Source); err != nil {
		return preview.Recovery{}, err
	}
	if k.record {
		if err := verify(records.ConfigMap{Namespace: k.Namespace, Name: k.Name}, m, snapshot); err != nil {
			return preview.Recovery{}, err
		}
	}
	movedOn, unseen := movedOnAt(ctx, k.connection, k.Namespace, m)
	heard := o.probe(ctx, k, snapshot.Destination)
	snapshot.MovedOn = cmp.Or(movedOn, heard.movedOn)
	d := preview.NewRecovery(m, snapshot)
	d.Answers, d.Running = heard.answers, heard.running
	if unseen != nil {
		d.Unknown = append(d.Unknown, fmt.Sprintf("whether another migration has moved ordinals on from there: %v", unseen))
	}
	if wasMoved(k) {
		d.Unknown = append(d.Unknown, preview.UnknownAfterEnd(d.Destination.Cluster))
	}
	return d, nil
}

// sourceOf returns the source's cluster. It stores the record of a run, or a Migration that names no other source.
func (o *recoverOptions) sourceOf(ctx context.Context, k *storedMigration) (*clusters.Connection, error) {
	source := k.connection
	if o.sourceContext != "" {
		where, err := o.EndpointAt("", o.sourceContext, "--source-context")
		if err != nil {
			return nil, err
		}
		if source, err = where.Connect(nil); err != nil {
			return nil, err
		}
		source.ReachedBy("") // commands about the migration use the cluster that stores it
	}
	return source, command.Verify(ctx, source, k.Status.Baseline.SourceCluster, "the source of "+k.title(), "--source-context")
}

// back returns the command that moves a migration back whose destination works.
func (o *recoverOptions) back(k *storedMigration) string {
	if wasMoved(k) {
		return o.otherWay(k)
	}
	return o.Again("rollback", k.Name, k.Namespace)
}

// drive runs the engine until every ordinal is back.
func (o *recoverOptions) drive(ctx context.Context, k *storedMigration) error {
	writes := &drain.Writes{}
	where, err := o.Source()
	if err != nil {
		return err
	}
	source, err := where.Connect(writes.Wrap)
	if err != nil {
		return err
	}
	off, err := clusters.Off(preview.LostCluster(k.Migration))
	if err != nil {
		return err
	}
	store := records.ConfigMap{Client: source.Live(), Namespace: k.Namespace, Name: k.Name}
	m, err := store.Load(ctx)
	if err != nil {
		return command.Unreachable(source.Name(), err)
	}
	shown := progress.NewDisplay(o.Common, progress.Format{Quiet: o.quiet, Verbose: true}, progress.Steering{Interrupt: o.Interrupt})
	defer shown.Close()
	n := progress.NewTracker(o.Clock.Now(), m)
	shown.Show(n.Event(o.Clock.Now(), progress.Started, fmt.Sprintf("recovering StatefulSet %s/%s to cluster %s, without cluster %s", k.Namespace, m.Spec.Source.Name, source.Name(), off.Name())))
	return driver{
		Common: o.Common, task: &task{source: source, destination: off, store: store},
		tracker: n, display: shown, writes: writes, mode: api.ModeRecover, exitOnStall: o.exitOnStall, told: true,
	}.drive(ctx)
}

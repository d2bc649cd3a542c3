package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/flags"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/records"
	"github.com/sliceshift/sliceshift/migration/view"
)

// modeOptions are the options of the commands that set the mode of a migration.
type modeOptions struct {
	named
	mode api.Mode
	// done describes the resulting state in messages.
	done string
	wait bool
	// kept allows ordinals to return to the volumes that they have left.
	kept    bool
	timeout time.Duration
	// evacuation is the name of an Evacuation, if the mode is that of all its Migrations.
	evacuation string
}

// Complete reads the name of a migration, or of an Evacuation.
func (o *modeOptions) Complete(cmd *cobra.Command, args []string) error {
	var err error
	if o.evacuation, err = evacuationIn(args); o.evacuation != "" || err != nil {
		return err
	}
	return o.named.Complete(cmd, args)
}

const pauseHelp = `Begins no further handoff. An ordinal that has been stopped already is started at
the destination first, so that a pause never keeps a replica down.

evacuation/NAME pauses all Migrations of an Evacuation. One that is paused by its own name
stays paused when its Evacuation resumes.`

func newPause(c *command.Common) *cobra.Command {
	return c.Command(&modeOptions{named: named{Common: c}, mode: api.ModePause, done: "paused"}, &cobra.Command{
		Use: "pause NAME", Short: "Begin no further handoff", Long: pauseHelp, Example: `  # Whatever drives it, a manager or a run
  migrate pause web -n shop --context east`,
	})
}

const resumeHelp = `Continues a migration that was paused, or that is being rolled back, to its
destination.

evacuation/NAME continues all Migrations that their Evacuation has paused or rolled back.`

func newResume(c *command.Common) *cobra.Command {
	return c.Command(&modeOptions{named: named{Common: c}, mode: api.ModeRun, done: "resumed"}, &cobra.Command{
		Use: "resume NAME", Short: "Continue a paused migration", Long: resumeHelp, Example: `  # Continue where it was
  migrate resume web -n shop --context east`,
	})
}

const rollbackHelp = `Takes every ordinal back to the source, under the same budget and as many at once as on
the way there, and removes what the migration has created at the destination. It can be
done at any moment until the migration is completed.

evacuation/NAME rolls back all Migrations of an Evacuation that have begun and not
completed. For those that have completed it prints the commands of the way back.`

func newRollback(c *command.Common) *cobra.Command {
	o := &modeOptions{named: named{Common: c}, mode: api.ModeRollback, done: "is being rolled back"}
	cmd := c.Command(o, &cobra.Command{
		Use: "rollback NAME", Short: "Take every ordinal back to the source", Long: rollbackHelp, Example: `  # Turn round
  migrate rollback web -n shop --context east

  # Wait until everything is back; exit 4 after half an hour
  migrate rollback web -n shop --context east --wait --timeout 30m`,
	})
	cmd.Flags().BoolVar(&o.kept, "to-kept-volumes", false, "for claim templates that moved by method Empty: let ordinals return to their old volumes, without later writes")
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until it is completed")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to wait (default: no limit)")
	return cmd
}

// Validate rejects invalid combinations of flags.
func (o *modeOptions) Validate() error {
	if o.timeout > 0 && !o.wait {
		return command.Usagef("--timeout is for --wait")
	}
	if o.evacuation != "" && (o.wait || o.kept) {
		return command.Usagef("--wait and --to-kept-volumes are for one migration; \"status evacuation/%s -w\" waits for all", o.evacuation)
	}
	return command.ValidateTimeout(o.timeout)
}

// Run sets the mode.
func (o *modeOptions) Run(ctx context.Context) error {
	if o.evacuation != "" {
		return o.steerAll(ctx)
	}
	k, err := o.find(ctx)
	if err != nil {
		return err
	}
	if completed := records.Completed(k.Migration); completed != "" {
		if done, err := o.afterCompleted(k, completed); done || err != nil {
			return err
		}
	}
	if o.mode == api.ModeRun {
		if err := o.afterAutomaticRollback(k); err != nil {
			return err
		}
	}
	now := k.Spec.Mode
	if now == "" {
		now = api.ModeRun
	}
	change := records.Change{Mode: o.mode}
	if o.kept {
		restore(k.Migration)
		change.Volumes = returning(k.Spec.Volumes)
	}
	if now == o.mode && !o.kept && k.Annotations[api.EvacuationHeldAnnotationKey] == "" {
		fmt.Fprintf(o.Out, "%s is %s already\n", k.title(), o.state())
	} else {
		if err := k.change(ctx, change); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "%s %s\n", k.title(), o.done)
	}
	return command.Within(ctx, o.timeout, func(ctx context.Context) error {
		unnoticed, err := o.expectDriver(ctx, k)
		if err != nil || !o.wait {
			return cmp.Or(err, unnoticed)
		}
		if unnoticed != nil {
			fmt.Fprintln(o.ErrOut, unnoticed)
		}
		return o.await(ctx, k)
	})
}

// state returns the state of a migration with this mode, for messages.
func (o *modeOptions) state() string {
	switch o.mode {
	case api.ModePause:
		return "paused"
	case api.ModeRollback:
		return "being rolled back"
	default:
		return "running"
	}
}

// afterCompleted handles a mode for a completed migration. done is false if the mode is written, because a migration
// that was rolled back may begin again.
func (o *modeOptions) afterCompleted(k *storedMigration, reason string) (done bool, err error) {
	switch {
	case reason == api.ReasonMoved && o.mode == api.ModeRollback:
		words, lost := view.WordsOf(k.Migration), ""
		if k.Spec.Storage == nil {
			lost = "; if the destination is lost for good: " + o.Again("recover", k.Name, k.Namespace)
		}
		return true, fmt.Errorf("%s is completed: %s, and what the migration had set is restored; %s: %s%s", k.title(), words.All, words.Reverse, o.otherWay(k), lost)
	case reason == api.ReasonRolledBack && o.mode == api.ModeRun:
		return false, nil
	case reason == api.ReasonRolledBack && o.mode == api.ModePause && k.Status.AutomaticRollback != nil:
		return false, nil // a pause is required before it may begin again
	}
	fmt.Fprintf(o.Out, "%s is completed (%s): there is nothing to do\n", k.title(), reason)
	return true, nil
}

// afterAutomaticRollback returns an error if the migration was rolled back automatically and has not been paused since.
// Such a migration would only stall.
func (o *named) afterAutomaticRollback(k *storedMigration) error {
	turn := k.Status.AutomaticRollback
	switch {
	case !records.AwaitsPause(k.Migration, k.record):
		return nil
	case k.Spec.Mode == api.ModePause:
		return fmt.Errorf("%s was rolled back automatically, and its manager has not seen the pause yet: look at it with %s, and try again", k.title(), o.Again("status", k.Name, k.Namespace))
	}
	return fmt.Errorf("%s was rolled back automatically: at %s %s had failed, whose onFailure is Rollback (%s); to continue to the destination, pause it first: %s, then resume it",
		k.title(), turn.Time.UTC().Format(time.RFC3339), turn.By, turn.Message, o.Again("pause", k.Name, k.Namespace))
}

// steer writes the mode of a typed command, with the checks of the command of that name.
func (o *named) steer(ctx context.Context, k *storedMigration, mode api.Mode) error {
	now := *k
	var err error
	if now.Migration, err = k.store.Load(ctx); err != nil {
		return fmt.Errorf("cluster %s: reading %s: %w", k.connection.Name(), k.where, err)
	}
	if mode == api.ModeRun {
		if err := o.afterAutomaticRollback(&now); err != nil {
			return err
		}
	}
	return k.change(ctx, records.Change{Mode: mode})
}

// await waits until the migration is completed in this mode.
func (o *modeOptions) await(ctx context.Context, k *storedMigration) error {
	stalled := ""
	return k.follow(ctx, o.Clock, func(m *api.Migration) (bool, error) {
		if completed := records.Completed(m); o.ends(m, completed) {
			fmt.Fprintf(o.Out, "%s completed: %s\n", k.title(), completed)
			return true, nil
		}
		if stall := view.StallOf(m); stall != nil && stall.Message != stalled {
			stalled = stall.Message
			fmt.Fprintf(o.ErrOut, "stalled: %s: %s\n", stall.Reason, stall.Message)
			if stall.Remedy != "" {
				fmt.Fprintf(o.ErrOut, "  %s\n", terminal.Remedy(stall.Remedy))
			}
		}
		return false, nil
	})
}

const (
	// noticeFor is how long a run may take to act upon another mode: it watches the record, and then reads both
	// clusters.
	noticeFor = 5 * time.Second
	// managerNoticeFor is how long a manager may take. A new manager may have to wait for the Lease of its predecessor.
	managerNoticeFor = 20 * time.Second
)

// noticeWithin returns how long the driver of the migration may take to act upon another mode.
func noticeWithin(k *storedMigration) time.Duration {
	if k.record {
		return noticeFor
	}
	return managerNoticeFor
}

// errUnnoticed ends the wait for a driver.
var errUnnoticed = errors.New("no process has taken notice")

// expectDriver waits until the driver of the migration reacts to the new mode. If none does, unnoticed has the command
// that starts one. A driver of an older version reports only its direction.
func (o *modeOptions) expectDriver(ctx context.Context, k *storedMigration) (unnoticed, err error) {
	fresh, err := k.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: reading %s: %w", k.connection.Name(), k.where, err)
	}
	k.Migration = fresh
	if _, known := records.Noticed(fresh, k.record); !known && !o.turns(fresh) {
		fmt.Fprintf(o.ErrOut, "The process that runs it takes notice. If none does: %s\n", o.goOn(fresh))
		return nil, nil
	}
	if err := o.awaitNotice(ctx, k); !errors.Is(err, errUnnoticed) {
		return nil, err
	}
	if undriven := o.refuseUndriven(k); undriven != nil {
		return undriven, nil
	}
	return refuseUnnoticed(k.title(), noticeWithin(k), o.howOn(k)), nil
}

// refuseUnnoticed returns the error that no process acts upon another mode.
func refuseUnnoticed(title string, within time.Duration, howOn string) error {
	return command.Refusedf("%s: no process has taken notice within %s, and nothing is done before one does; if none drives it, %s", title, within, howOn)
}

// noticed reports whether a process acts upon the mode.
func (o *modeOptions) noticed(k *storedMigration) bool {
	if k.undriven(o.Common) != nil {
		return false
	}
	noticed, known := records.Noticed(k.Migration, k.record)
	return noticed || !known && !o.turns(k.Migration)
}

// turns reports whether the mode reverses the direction of the migration.
func (o *modeOptions) turns(m *api.Migration) bool {
	fence := m.Status.Fence
	return fence != nil && o.mode != api.ModePause && fence.Direction != o.direction()
}

// direction returns the direction of the mode.
func (o *modeOptions) direction() api.Direction {
	if o.mode == api.ModeRollback {
		return api.Back
	}
	return api.Forward
}

// awaitNotice waits until a process acts upon the mode.
func (o *modeOptions) awaitNotice(ctx context.Context, k *storedMigration) error {
	waiting, end := context.WithCancelCause(ctx)
	defer end(nil)
	limit := o.Clock.NewTimer(noticeWithin(k))
	defer limit.Stop()
	go func() {
		select {
		case <-limit.C():
			end(errUnnoticed)
		case <-waiting.Done():
		}
	}()
	err := k.follow(waiting, o.Clock, func(m *api.Migration) (bool, error) {
		shown := *k
		shown.Migration = m
		return o.noticed(&shown), nil
	})
	if err != nil && errors.Is(context.Cause(waiting), errUnnoticed) {
		return errUnnoticed
	}
	return err
}

// goOn returns the command that continues the record of a run. The destination's context is only known by the name that
// it had where the move began.
func (o *named) goOn(m *api.Migration) string {
	if m.Spec.Storage != nil {
		return o.Again("run", o.name, m.Namespace, "--"+flags.InPlace)
	}
	to := ""
	if !within(m) {
		to = cmp.Or(m.Annotations[records.DestinationNameAnnotationKey], "CONTEXT")
	}
	words := append([]string{o.Again("run", o.name, m.Namespace)}, command.FlagWords("--to-context", to,
		"--to-namespace", unless(m.Namespace, m.Spec.Destination.Namespace), "--to-name", unless(m.Spec.Source.Name, m.Spec.Destination.Name))...)
	return strings.Join(words, " ")
}

// unless returns a value that differs from the default, or an empty string.
func unless(standard, value string) string {
	if value == standard {
		return ""
	}
	return value
}

// otherWay returns the command that plans the reverse of a completed move.
func (o *named) otherWay(k *storedMigration) string {
	if k.Spec.Storage != nil {
		return wayBackInPlace(o.Common, k.Migration)
	}
	if within(k.Migration) {
		return wayBack(o.Common, k.Migration, "")
	}
	lead := ""
	if file := *o.Config.KubeConfig; file != "" {
		lead = "--kubeconfig " + command.Quote(file) + " "
	}
	there := cmp.Or(k.Annotations[records.DestinationNameAnnotationKey], "CONTEXT")
	return wayBack(o.Common, k.Migration, lead+"--context "+command.Quote(there)+" --to-context "+command.Quote(k.connection.Name()))
}

// within reports whether a migration stays in one cluster.
func within(m *api.Migration) bool {
	base := m.Status.Baseline
	return base != nil && base.SourceCluster == base.DestinationCluster
}

// wayBack returns the command that plans the reverse of a migration. lead holds the flags that select both clusters. It
// is empty if the migration stays in the cluster of this command's flags.
func wayBack(c *command.Common, m *api.Migration, lead string) string {
	from, to := m.Spec.Source, m.Spec.Destination
	set, namespace := cmp.Or(to.Name, from.Name), cmp.Or(to.Namespace, m.Namespace)
	words := []string{c.Again("plan", set, namespace)}
	if lead != "" {
		words = []string{c.Program, "plan", command.Quote(set), "-n", command.Quote(namespace), lead}
	}
	native := appsv1.SchemeGroupVersion.String()
	was, is := cmp.Or(from.APIVersion, native), cmp.Or(to.APIVersion, from.APIVersion, native)
	words = append(words, command.FlagWords("--to-namespace", unless(namespace, cmp.Or(from.Namespace, m.Namespace)), "--to-name", unless(set, from.Name),
		"--"+flags.Kind, unless(native, is), "--"+flags.ToKind, unless(is, was))...)
	return strings.Join(append(words, flags.Back(m.Spec.Volumes)...), " ")
}

// ends reports whether a migration is completed in this mode. With mode Recover, an earlier completion as Moved does not
// count, because it remains in the status until the manager reacts.
func (o *modeOptions) ends(m *api.Migration, completed string) bool {
	return completed != "" && m.Spec.Mode == o.mode && (o.mode != api.ModeRecover || completed != api.ReasonMoved)
}

// returning allows ordinals, in the specs of method Empty, to return to the volumes that they have left.
func returning(volumes []api.VolumeSpec) []api.VolumeSpec {
	for i := range volumes {
		if volumes[i].Method == api.MethodEmpty {
			volumes[i].Empty.ReturnsToKept = true
		}
	}
	return volumes
}

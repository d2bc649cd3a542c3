package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// Trial moves a running application from east to west, or changes its storage in place. It rolls that back halfway and
// does it again, while clients in both clusters use the application. It prints its progress line by line.
type Trial struct {
	Pair    *kind.Pair
	Members Members
	// Name is the folder of the trial's files, in the folder that the clusters share.
	Name string
	// Container is that of a member, without what all members have in common. Grace is how many seconds it may take to
	// stop.
	Container corev1.Container
	Grace     int64
	// Roles are the roles of the mover in addition to those that every move needs.
	Roles []string
	// Recipe and Parameters are those of the Migration. Volume is how a member's data gets to the other side.
	Recipe     string
	Parameters map[string]string
	Volume     api.VolumeSpec
	// InPlace is true if the members stay in east, and their volumes are replaced by those of Volume.
	InPlace bool
	// Client is the image of the clients. Args returns their own arguments for a command, run or final.
	Client string
	Args   func(command string) []string
	// Turn is the ordinal at whose stop the move is rolled back.
	Turn int32
	// Ready is called when all members are Ready, Moved after the second move, Ended when the clients have ended.
	Ready, Moved, Ended func(context.Context) error
	// Look receives every state of the Migration that the trial waits for; may be nil.
	Look func(context.Context, *api.Migration)
	// Move counts the moves so far.
	Move int

	begin time.Time
	// last is the last line printed about the Migration.
	last string
}

// Result holds the results of a trial.
type Result struct {
	Answer
	Audit  auditor.Report
	Phases []Phase
	// Load is the average number of running or waiting processes on this machine over the last minute of the moves.
	// Other work on the machine affects the figures.
	Load string
}

// steadyFor is how long the application is observed before and after the moves.
const steadyFor = 10 * time.Second

// Part is the work of a trial in one phase.
type Part struct {
	Name string
	Do   func(context.Context) error
}

// Run deploys the application to east, moves it while clients and the auditor observe it, judges its data, and removes
// it.
func (t *Trial) Run(ctx context.Context) (Result, error) {
	undisturbed := Undisturbed(steadyFor)
	return t.Perform(ctx, []Part{
		{"before", undisturbed}, {"moving, turned round", t.moveAndTurn}, {"moving back", t.awaitBack}, {"moving again", t.moveAgain}, {"after", undisturbed},
	})
}

// Perform is Run with other parts. The application is undisturbed in the first and the last one.
func (t *Trial) Perform(ctx context.Context, parts []Part) (Result, error) {
	t.begin = time.Now()
	if err := t.deploy(ctx); err != nil {
		return Result{}, err
	}
	watching, err := t.audit(ctx)
	if err != nil {
		return Result{}, err
	}
	for _, c := range t.Pair.Both() {
		if err := RunPod(ctx, c, t.client(clientName(c), "run"), corev1.PodRunning); err != nil {
			return Result{}, err
		}
	}
	t.Say("clients in both clusters work")
	var r Result
	for _, part := range parts {
		from := time.Now()
		if err := part.Do(ctx); err != nil {
			return Result{}, fmt.Errorf("%s: %w", part.Name, err)
		}
		r.Phases = append(r.Phases, Phase{Name: part.Name, From: from, Until: time.Now()})
	}
	load, err := os.ReadFile("/proc/loadavg")
	r.Load, _, _ = strings.Cut(string(load), " ")
	if err := errors.Join(err, t.stopClients(ctx), t.Ended(ctx), RunPod(ctx, t.Pair.West, t.client("final", "final"), corev1.PodSucceeded)); err != nil {
		return Result{}, err
	}
	r.Audit = watching.Finish(ctx)
	fmt.Println(r.Audit)
	if err := t.judge(&r); err != nil {
		return Result{}, err
	}
	t.Say("%d operations judged", r.Operations)
	return r, t.clear(ctx)
}

// deploy starts the application in east and creates the rights and objects that the move needs.
func (t *Trial) deploy(ctx context.Context) error {
	namespace := t.Members.Namespace
	for _, c := range t.Pair.Both() {
		errs := []error{setup.Namespace(ctx, c, namespace), setup.MoverIn(ctx, c, namespace)}
		for _, role := range t.Roles {
			errs = append(errs, setup.MoverMay(ctx, c, namespace, role))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	for _, object := range append(t.Members.objects(t.Name), t.Members.statefulSet(t.Container, t.Grace)) {
		if err := setup.Create(ctx, t.Pair.East, object); err != nil {
			return err
		}
	}
	if err := (fixture.App{Namespace: namespace, Name: t.Members.Name}).AwaitReady(ctx, t.Pair.East.Client); err != nil {
		return err
	}
	t.Say("%d members are Ready in east", t.Members.Replicas)
	return t.Ready(ctx)
}

// audit starts an audit of the move. Of volumes that are copied, or restored from snapshots, each side has its own, and the
// auditor does not judge their content: the writers must check it.
func (t *Trial) audit(ctx context.Context) (*auditor.Auditor, error) {
	side := func(c *kind.Cluster) auditor.Side {
		return auditor.Side{Name: c.Name, Config: c.Config, Namespace: t.Members.Namespace, Set: t.Members.Name}
	}
	o := auditor.Options{Source: side(t.Pair.East), Destination: side(t.Pair.West), Budget: 1, InPlace: t.InPlace}
	if t.Volume.Method == api.MethodCopy || t.Volume.Method == api.MethodSnapshot {
		o.OwnVolumes = []string{template}
	}
	return auditor.Start(ctx, o)
}

// client returns a pod that runs a command of the client and writes a file of the trial.
func (t *Trial) client(name, command string) *corev1.Pod {
	args := []string{command, "-name=" + name, "-out=/out/" + name + ".json"}
	return Writer(t.Members.Meta(name), t.Name, t.Client, append(args, t.Args(command)...)...)
}

func clientName(c *kind.Cluster) string { return "client-" + c.Name }

func (t *Trial) stopClients(ctx context.Context) error {
	var errs []error
	for _, c := range t.Pair.Both() {
		errs = append(errs, stopPod(ctx, c, t.Members.Namespace, clientName(c)))
	}
	return errors.Join(errs...)
}

// judge judges the files of the clients. It measures every phase, the three phases of the moves together, and the whole.
func (t *Trial) judge(r *Result) error {
	written := func(name string) string { return filepath.Join(t.Pair.SharedDir(), t.Name, name+".json") }
	var histories []string
	for _, c := range t.Pair.Both() {
		histories = append(histories, written(clientName(c)))
	}
	all, finals, err := read(histories, written("final"))
	if err != nil {
		return err
	}
	first, last := r.Phases[0], r.Phases[len(r.Phases)-1]
	r.Answer = judge(all, finals, append(slices.Clone(r.Phases),
		Phase{Name: "during", From: first.Until, Until: last.From}, Phase{Name: "whole", From: first.From, Until: last.Until}))
	return nil
}

// Figure returns the measurements of a phase.
func (r Result) Figure(name string) Figure {
	return r.Figures[slices.IndexFunc(r.Figures, func(f Figure) bool { return f.Name == name })]
}

// Complaints returns what the auditor or the records of the clients refute.
func (r Result) Complaints() (all []string) {
	if !r.Audit.OK() {
		all = append(all, "the auditor does not agree")
	}
	for what, list := range map[string][]string{"acknowledged writes are lost": r.Lost, "values were found that no client wrote": r.Strange} {
		if len(list) > 0 {
			all = append(all, fmt.Sprintf("%d %s: %s", len(list), what, strings.Join(list[:min(3, len(list))], ", ")))
		}
	}
	for _, key := range r.Keys {
		if key.Verdict != "Ok" {
			all = append(all, fmt.Sprintf("the history of %s is not linearizable: %s", key.Key, key.Verdict))
		}
	}
	return all
}

// Say prints a line with the seconds since the trial began.
func (t *Trial) Say(format string, args ...any) {
	fmt.Printf("%6.1f s  %s\n", time.Since(t.begin).Seconds(), fmt.Sprintf(format, args...))
}

// Undisturbed returns what lets the clients work for a while.
func Undisturbed(span time.Duration) func(context.Context) error {
	return func(ctx context.Context) error { return fixture.Pass(ctx, span) }
}

// moveAndTurn starts the move, which the manager's pod drives with credentials for west, and rolls it back when a member
// is stopped. Everything specific to the application comes from the recipe.
func (t *Trial) moveAndTurn(ctx context.Context) error {
	m := t.migration()
	m.Spec = api.MigrationSpec{
		Source:             api.SourceReference{Name: m.Name},
		Volumes:            []api.VolumeSpec{t.Volume},
		ServiceAccountName: setup.Mover,
		Mode:               api.ModeRun,
	}
	if err := t.destine(ctx, m); err != nil {
		return err
	}
	if err := fixture.ByRecipe(&m.Spec, t.Recipe, t.Parameters); err != nil {
		return err
	}
	if err := setup.Create(ctx, t.Pair.East, m); err != nil {
		return err
	}
	t.Say("the Migration is created")
	t.Move = 1
	if err := t.await(ctx, func(*api.Migration) bool { return t.Stopped(ctx, t.Turn) }); err != nil {
		return fmt.Errorf("ordinal %d stopped: %w", t.Turn, err)
	}
	return t.setMode(ctx, api.ModeRollback)
}

// awaitBack waits until everything is rolled back.
func (t *Trial) awaitBack(ctx context.Context) error {
	return t.await(ctx, completed(api.ReasonRolledBack))
}

// moveAgain moves the application again after the rollback.
func (t *Trial) moveAgain(ctx context.Context) error {
	t.Move = 2
	if err := t.setMode(ctx, api.ModeRun); err != nil {
		return err
	}
	if err := t.await(ctx, completed(api.ReasonMoved)); err != nil {
		return err
	}
	return t.Moved(ctx)
}

func (t *Trial) migration() *api.Migration {
	return &api.Migration{ObjectMeta: t.Members.Meta(t.Members.Name)}
}

// completed returns a predicate: the Migration has completed its current spec for this reason.
func completed(reason string) func(*api.Migration) bool {
	return func(m *api.Migration) bool {
		completed := meta.FindStatusCondition(m.Status.Conditions, api.ConditionCompleted)
		return completed != nil && completed.Reason == reason && m.Status.ObservedGeneration == m.Generation
	}
}

func (t *Trial) setMode(ctx context.Context, mode api.Mode) error {
	t.Say("mode: %s", mode)
	c, err := setup.Client(t.Pair.East)
	if err != nil {
		return err
	}
	return c.Patch(ctx, t.migration(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"mode":%q}}`, mode)))
}

// destine completes a Migration: it moves the members to west, or changes their storage.
func (t *Trial) destine(ctx context.Context, m *api.Migration) (err error) {
	if t.InPlace {
		m.Spec.Storage = &api.StorageSpec{}
		return nil
	}
	m.Spec.Destination.KubeConfigSecretRef, err = setup.Credentials(ctx, t.Pair.West, t.Pair.East, t.Members.Namespace)
	return err
}

// Stopped reports whether a member was stopped in east, or, in place, is about to be. The Migration's status does not
// show a member that is down only for a short time.
func (t *Trial) Stopped(ctx context.Context, ordinal int32) bool {
	if t.InPlace {
		claim, err := t.Pair.East.Client.CoreV1().PersistentVolumeClaims(t.Members.Namespace).
			Get(ctx, fmt.Sprintf("%s-%s-%d", template, t.Members.Name, ordinal), metav1.GetOptions{})
		return err == nil && claim.DeletionTimestamp != nil
	}
	set, err := t.Pair.East.Client.AppsV1().StatefulSets(t.Members.Namespace).Get(ctx, t.Members.Name, metav1.GetOptions{})
	return err == nil && *set.Spec.Replicas <= ordinal // else it is read again: the API server may be down
}

// await polls the Migration until reached holds, and prints its progress meanwhile.
func (t *Trial) await(ctx context.Context, reached func(*api.Migration) bool) error {
	c, err := setup.Client(t.Pair.East)
	if err != nil {
		return err
	}
	migration := t.migration()
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(migration), migration); err != nil {
			return false, nil //nolint:nilerr // the API server may be away
		}
		if line := t.state(migration); line != t.last {
			t.last = line
			t.Say("%s", line)
		}
		if t.Look != nil {
			t.Look(ctx, migration)
		}
		return reached(migration), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s: %+v", err, t.state(migration), migration.Status.Conditions)
	}
	return nil
}

// state describes the progress in one line.
func (t *Trial) state(migration *api.Migration) string {
	where := "are in west"
	if t.InPlace {
		where = "have the new storage"
	}
	line := fmt.Sprintf("%d of %d members %s", migration.Status.Moved, migration.Status.Total, where)
	if h := migration.Status.Handoff; h != nil {
		line += fmt.Sprintf(", %s-%d: %s", t.Members.Name, h.Ordinal, h.Step)
	}
	if stalled := meta.FindStatusCondition(migration.Status.Conditions, api.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		line += ", stalled: " + stalled.Message
	}
	return line
}

// clear removes the objects of the members in both clusters. The folder with their data remains. The Migration is
// deleted first: deleting the namespace would remove the rights that it needs to release the sets.
func (t *Trial) clear(ctx context.Context) error {
	c, err := setup.Client(t.Pair.East)
	if err != nil {
		return err
	}
	m, namespace := t.migration(), t.Members.Namespace
	if err := client.IgnoreNotFound(c.Delete(ctx, m)); err != nil {
		return err
	}
	err = absent(ctx, "the Migration", func(ctx context.Context) error { return c.Get(ctx, client.ObjectKeyFromObject(m), m) })
	for _, at := range t.Pair.Both() {
		if err == nil {
			err = errors.Join(at.Client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}), setup.RemoveMover(ctx, at, namespace))
		}
	}
	for _, at := range t.Pair.Both() {
		if err == nil {
			err = absent(ctx, "namespace "+namespace+" of cluster "+at.Name, func(ctx context.Context) error {
				_, err := at.Client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
				return err
			})
		}
		if err == nil {
			err = at.Client.CoreV1().PersistentVolumes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}
	}
	return err
}

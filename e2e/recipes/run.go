package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

const (
	// limit bounds a run.
	limit = 12 * time.Minute
	// steady is how long the database is observed before and after the moves.
	steady = 10 * time.Second
)

// run is the trial of one recipe.
type run struct {
	system
	*stage.Play
	phases []phase
}

// all deploys the database to east, moves it while clients and the auditor observe it, and judges its data.
func (r *run) all(ctx context.Context) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	fmt.Printf("\nrecipe %s\n", r.recipe)
	if err := r.deploy(ctx); err != nil {
		return result{}, err
	}
	watching, err := stage.Audit(ctx, r.Pair, r.members)
	if err != nil {
		return result{}, err
	}
	if err := r.startClients(ctx); err != nil {
		return result{}, err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"before", undisturbed}, {"moving, turned round", r.moveAndTurn}, {"moving back", r.AwaitBack}, {"moving again", r.MoveAgain}, {"after", undisturbed},
	} {
		from := time.Now()
		if err := step.do(ctx); err != nil {
			return result{}, fmt.Errorf("%s: %w", step.name, err)
		}
		r.phases = append(r.phases, phase{step.name, from, time.Now()})
	}
	if err := errors.Join(r.stopClients(ctx), r.hooksRan(ctx), r.final(ctx)); err != nil {
		return result{}, err
	}
	shown, err := r.judge(r.written)
	if err != nil {
		return result{}, err
	}
	shown.audit = watching.Finish(ctx)
	return shown, stage.Clear(ctx, r.Pair, r.members)
}

// hooksRan checks the Jobs of the recipe's hooks that kubelets have completed.
func (r *run) hooksRan(ctx context.Context) error {
	spec := api.MigrationSpec{Source: api.SourceReference{Name: r.members.Name}}
	if err := fixture.ByRecipe(&spec, r.recipe, r.parameters); err != nil || len(spec.Hooks) == 0 {
		return err
	}
	ran, failed := map[string]int{}, []error(nil)
	for _, c := range r.Pair.Both() {
		jobs, err := c.Client.BatchV1().Jobs(r.members.Namespace).List(ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
		if err != nil {
			return err
		}
		for i := range jobs.Items {
			job := &jobs.Items[i]
			name := hookOf(job)
			if name == "" {
				continue
			}
			if job.Status.Succeeded == 0 {
				failed = append(failed, fmt.Errorf("cluster %s: Job %s of hook %s has not succeeded: %+v", c.Name, job.Name, name, job.Status.Conditions))
			}
			ran[name]++
		}
	}
	for _, hook := range spec.Hooks {
		r.Say("hook %s was run %d times", hook.Name, ran[hook.Name])
		if ran[hook.Name] == 0 {
			failed = append(failed, fmt.Errorf("hook %s was not run", hook.Name))
		}
	}
	return errors.Join(failed...)
}

// hookOf returns the hook that a Job belongs to; empty for a Job of a gate.
func hookOf(job *batchv1.Job) string {
	for _, each := range job.Spec.Template.Spec.Containers[0].Env {
		if each.Name == "SLICESHIFT_HOOK" {
			return each.Value
		}
	}
	return ""
}

// deploy starts the database in east and creates the rights and objects that the move needs.
func (r *run) deploy(ctx context.Context) error {
	namespace := r.members.Namespace
	for _, c := range r.Pair.Both() {
		err := errors.Join(setup.Namespace(ctx, c, namespace), setup.MoverIn(ctx, c, namespace),
			setup.MoverMay(ctx, c, namespace, setup.RunsJobs), setup.MoverMay(ctx, c, namespace, setup.AsksPods))
		if err != nil {
			return err
		}
	}
	for _, object := range append(r.members.Objects(r.recipe), r.statefulSet()) {
		if err := setup.Create(ctx, r.Pair.East, object); err != nil {
			return err
		}
	}
	if err := (fixture.App{Namespace: namespace, Name: r.members.Name}).AwaitReady(ctx, r.Pair.East.Client); err != nil {
		return err
	}
	r.Say("%d members are Ready in east", r.members.Replicas)
	return r.putTogether(ctx)
}

// putTogether joins the members to one database, if the database needs that.
func (r *run) putTogether(ctx context.Context) error {
	if r.form == "" {
		return nil
	}
	pod := stage.Writer(r.members.Meta("form"), r.recipe, r.image)
	pod.Spec.Containers[0].Command = []string{"sh", "-euc", r.form}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MEMBERS", Value: strings.Join(r.hosts(r.members.Names()), " ")}}
	return stage.RunPod(ctx, r.Pair.East, pod, corev1.PodSucceeded)
}

// undisturbed lets the clients work for a while.
func undisturbed(ctx context.Context) error {
	select {
	case <-time.After(steady):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// moveAndTurn starts the move by the recipe, and rolls it back when a member is stopped: the primary, if there is one.
func (r *run) moveAndTurn(ctx context.Context) error {
	west, err := setup.Credentials(ctx, r.Pair.West, r.Pair.East, r.members.Namespace)
	if err != nil {
		return err
	}
	m := &api.Migration{ObjectMeta: r.members.Meta(r.members.Name), Spec: api.MigrationSpec{
		Source:             api.SourceReference{Name: r.members.Name},
		Destination:        api.DestinationReference{KubeConfigSecretRef: west},
		Volumes:            []api.VolumeSpec{{ClaimTemplate: "data", Shared: true}},
		ServiceAccountName: setup.Mover,
		Mode:               api.ModeRun,
	}}
	if err := fixture.ByRecipe(&m.Spec, r.recipe, r.parameters); err != nil {
		return err
	}
	if err := setup.Create(ctx, r.Pair.East, m); err != nil {
		return err
	}
	r.Say("the Migration is created")
	if err := r.Await(ctx, func(*api.Migration) bool { return r.Stopped(ctx, r.turn) }); err != nil {
		return fmt.Errorf("a member stopped: %w", err)
	}
	return r.SetMode(ctx, api.ModeRollback)
}

func clientName(c *kind.Cluster) string { return "client-" + c.Name }

// written returns the path of a file of the run on this machine.
func (r *run) written(name string) string {
	return filepath.Join(r.Pair.SharedDir(), r.recipe, name+".json")
}

// client returns a pod that runs the client command does against these members.
func (r *run) client(name, does string, members []string) *corev1.Pod {
	return stage.Writer(r.members.Meta(name), r.recipe, clientImage, does,
		"-system="+r.recipe, "-name="+name, "-members="+strings.Join(r.hosts(members), ","), "-out=/out/"+name+".json")
}

// startClients starts a client in each cluster.
func (r *run) startClients(ctx context.Context) error {
	for _, c := range r.Pair.Both() {
		if err := stage.RunPod(ctx, c, r.client(clientName(c), "run", r.clients()), corev1.PodRunning); err != nil {
			return err
		}
	}
	r.Say("clients in both clusters write")
	return nil
}

func (r *run) stopClients(ctx context.Context) error {
	var errs []error
	for _, c := range r.Pair.Both() {
		errs = append(errs, stage.StopPod(ctx, c, r.members.Namespace, clientName(c)))
	}
	return errors.Join(errs...)
}

// final requests all written values of every member, by a pod in west.
func (r *run) final(ctx context.Context) error {
	return stage.RunPod(ctx, r.Pair.West, r.client("final", "final", r.members.Names()), corev1.PodSucceeded)
}

// Command recipes moves a database by its recipe from one kind cluster to another, or changes its StorageClass in place.
// It rolls that back halfway, and does it again, while clients in both clusters write. It then checks every member for each acknowledged write: make
// e2e-recipes. One trial rehearses the move before: make e2e-rehearsal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/built"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/debian"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/e2e/kind/policy"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/kind/stage"
	"github.com/sliceshift/sliceshift/internal/program"
)

// The images.
const (
	databaseImage  = "sliceshift/databases:e2e"
	zookeeperImage = "sliceshift/zookeeper:e2e"
	clientImage    = "sliceshift/database-client:e2e"
	engineImage    = "sliceshift/policy-engine:e2e"
)

func main() {
	only := flag.String("only", "", "the one trial that is run, such as redis or postgresql-in-place")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	program.Run("recipes", func(ctx context.Context) error { return try(ctx, *only) })
}

// limit bounds a trial.
const limit = 12 * time.Minute

// try starts the clusters once and tries every recipe on them.
func try(ctx context.Context, only string) error {
	systems := slices.DeleteFunc(systems(), func(s system) bool { return only != "" && s.name() != only })
	if len(systems) == 0 {
		return fmt.Errorf("%q is none of the trials", only)
	}
	build := func(ctx context.Context, dir string) ([]string, error) { return buildImages(ctx, dir, systems) }
	return stage.On(ctx, "e2e-recipes", build, func(ctx context.Context, dir string, pair *kind.Pair) (err error) {
		driver, err := disks.Start(ctx, filepath.Join(dir, "disks"), disks.Site{Cluster: pair.East, Driver: diskDriver})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop(ctx, driver)) }()
		var failed []error
		for _, s := range systems {
			fmt.Printf("\n%s\n", s.name())
			within, cancel := context.WithTimeout(ctx, limit)
			shown, err := s.run(within, dir, pair)
			cancel()
			if err != nil {
				return fmt.Errorf("%s: %w (what the nodes logged is in %s)", s.name(), err, dir)
			}
			show(os.Stdout, s.name(), shown)
			failed = append(failed, verdict(s.name(), shown))
		}
		return errors.Join(failed...)
	})
}

// run runs the trial of one recipe. dir is for its files.
func (s system) run(ctx context.Context, dir string, pair *kind.Pair) (stage.Result, error) {
	if s.rehearsed {
		return rehearse(ctx, dir, s.trial(pair))
	}
	return s.trial(pair).Run(ctx)
}

// stop stops a driver. The volumes of a trial that was interrupted are never released, so it does not wait for them for long.
func stop(ctx context.Context, driver *disks.Disks) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return driver.Stop(ctx)
}

// diskDriver is the provisioner of the volumes that are changed in place.
const diskDriver = "disks.example.com"

// packages are the Debian packages of each image.
var packages = map[string][]string{databaseImage: {"postgresql-15", "redis-server"}, zookeeperImage: {"zookeeper"}}

// buildImages builds the images that these systems need.
func buildImages(ctx context.Context, dir string, systems []system) ([]string, error) {
	images := []string{clientImage}
	for _, s := range systems {
		if slices.Contains(images, s.image) {
			continue
		}
		if err := debian.Image(ctx, os.Stderr, s.image, packages[s.image]...); err != nil {
			return nil, err
		}
		images = append(images, s.image)
	}
	if slices.ContainsFunc(systems, func(s system) bool { return s.rehearsed }) {
		if err := policy.BuildImage(ctx, os.Stderr, dir, engineImage); err != nil {
			return nil, err
		}
		images = append(images, engineImage)
	}
	programs, err := built.Module("e2e", "recipes", "programs")
	if err != nil {
		return nil, err
	}
	return images, kind.BuildImage(ctx, dir, filepath.Join(programs, "client"), clientImage)
}

// trial returns the trial of one recipe.
func (s system) trial(pair *kind.Pair) *stage.Trial {
	t := &stage.Trial{
		Pair: pair, Members: s.members, Name: s.name(), Container: s.container(), Grace: 60, Roles: []string{setup.RunsJobs, setup.AsksPods},
		Recipe: s.recipe, Parameters: s.parameters, Volume: api.VolumeSpec{ClaimTemplate: "data", Shared: true}, Turn: s.turn, Client: clientImage,
		Moved: func(context.Context) error { return nil },
	}
	switch {
	case s.rehearsed:
		t.Members.Class, t.Volume = disks.Late(snapshotDriver), api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodSnapshot}
	case s.inPlace:
		t.Members.Class, t.InPlace, t.Roles = disks.Late(diskDriver), true, append(t.Roles, setup.RunsPods)
		t.Volume = api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(diskDriver), Copy: api.CopySpec{Image: stage.ManagerImage}}
	}
	t.Args = func(command string) []string {
		members := s.members.Names()
		if command == "run" && !s.anywhere {
			members = members[:1]
		}
		return []string{"-system=" + s.recipe, "-members=" + strings.Join(s.hosts(members), ",")}
	}
	t.Ready = func(ctx context.Context) error { return s.putTogether(ctx, pair.East) }
	t.Ended = func(ctx context.Context) error { return s.hooksRan(ctx, t) }
	return t
}

// putTogether joins the members to one database, if the database needs that.
func (s system) putTogether(ctx context.Context, east *kind.Cluster) error {
	if s.form == "" {
		return nil
	}
	pod := stage.Writer(s.members.Meta("form"), s.recipe, s.image)
	pod.Spec.Containers[0].Command = []string{"sh", "-euc", s.form}
	pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MEMBERS", Value: strings.Join(s.hosts(s.members.Names()), " ")}}
	return stage.RunPod(ctx, east, pod, corev1.PodSucceeded)
}

// hooksRan checks the Jobs of the recipe's hooks that kubelets have completed.
func (s system) hooksRan(ctx context.Context, t *stage.Trial) error {
	spec := api.MigrationSpec{Source: api.SourceReference{Name: s.members.Name}}
	if err := fixture.ByRecipe(&spec, s.recipe, s.parameters); err != nil || len(spec.Hooks) == 0 {
		return err
	}
	ran, failed := map[string]int{}, []error(nil)
	for _, c := range t.Pair.Both() {
		jobs, err := c.Client.BatchV1().Jobs(s.members.Namespace).List(ctx, metav1.ListOptions{LabelSelector: api.MigrationLabelKey})
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
		t.Say("hook %s was run %d times", hook.Name, ran[hook.Name])
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

// show prints the result of a recipe.
func show(out io.Writer, name string, r stage.Result) {
	fmt.Fprintf(out, "\n%s: %d acknowledged writes, %d lost, %d values that no client wrote, %d writes of unknown outcome\n",
		name, r.Acknowledged, len(r.Lost), len(r.Strange), r.Unknown)
	for _, f := range r.Figures {
		fmt.Fprintf(out, "  %-22s %6.1f s  %6.1f writes/s  longest interruption %5.2f s, of one client %5.2f s\n", f.Name, f.Seconds, f.WritesPerSecond, f.Gap, f.ClientGap)
	}
}

// verdict returns an error for everything that was lost or broken.
func verdict(name string, r stage.Result) error {
	all := r.Complaints()
	for _, f := range r.Figures {
		if f.WritesPerSecond == 0 {
			all = append(all, f.Name+": no write was acknowledged")
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", name, strings.Join(all, "; "))
}

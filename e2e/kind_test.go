package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/auditor"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/journal"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
)

// kindGround is two kind clusters: real kubelets, and replicas that write to their volumes
// once a second.
type kindGround struct {
	pair *kind.Pair
	// image is what the replicas run.
	image string
	done  cases.Table
}

// kindSite is one of them.
type kindSite struct {
	*kind.Cluster
	dir string
}

func (s kindSite) Name() string             { return s.Cluster.Name }
func (s kindSite) RESTConfig() *rest.Config { return s.Config }
func (s kindSite) Kubeconfig() string       { return s.Cluster.Kubeconfig }

func (s kindSite) UserKubeconfig(user string, groups ...string) (string, error) {
	return s.Cluster.UserKubeconfig(context.Background(), s.dir, user, groups...)
}

func startKind(ctx context.Context) (ground, error) {
	ctrl.SetLogger(logr.Discard())
	dir, err := filepath.Abs("../out/e2e-kind-cases")
	if err == nil {
		err = errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	}
	if err != nil {
		return nil, err
	}
	pair, err := kind.Up(ctx, dir, os.Stderr)
	if err != nil {
		return nil, err
	}
	g := &kindGround{pair: pair}
	if err := g.prepare(ctx, dir); err != nil {
		return nil, errors.Join(err, g.close(true))
	}
	east, west = kindSite{pair.East, dir}, kindSite{pair.West, dir}
	return g, nil
}

func (g *kindGround) prepare(ctx context.Context, dir string) error {
	image, err := g.pair.Workload(ctx, dir)
	if err != nil {
		return err
	}
	g.image = image
	for _, c := range g.pair.Both() {
		if err := errors.Join(setup.Storage(ctx, c), setup.CRDs(ctx, c)); err != nil {
			return err
		}
	}
	return nil
}

func (*kindGround) limit() time.Duration { return 8 * time.Minute }

// deploy makes the volumes, each with a journal of the ordinal that it is for, and an
// application that writes to them.
func (g *kindGround) deploy(v *move) error {
	v.t.Cleanup(func() { g.clear(v) })
	v.app.Adapt = g.writing
	if err := setup.Namespace(v.ctx, g.at(v.from), v.app.Namespace); err != nil {
		return err
	}
	if dirs := journalsOf(v); len(dirs) > 0 {
		if err := replica.Seed(v.ctx, v.source, replica.Seeder(g.image, v.app.Namespace, dirs...)); err != nil {
			return err
		}
	}
	for _, volume := range volumesOf(v) {
		if _, err := v.source.CoreV1().PersistentVolumes().Create(v.ctx, volume, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return v.app.Deploy(v.ctx, v.source)
}

func (g *kindGround) at(s site) *kind.Cluster {
	if s == east {
		return g.pair.East
	}
	return g.pair.West
}

// writing lets an application run the workload over its claims.
func (g *kindGround) writing(set *appsv1.StatefulSet) {
	set.Spec.Template.Spec.AutomountServiceAccountToken = new(false)
	container := &set.Spec.Template.Spec.Containers[0]
	mounts, dirs := container.VolumeMounts, []string(nil)
	for _, mount := range mounts {
		dirs = append(dirs, mount.MountPath)
	}
	*container = replica.Container(g.image, replica.PodIndex, dirs...)
	container.VolumeMounts = mounts
	for i := range set.Spec.VolumeClaimTemplates {
		set.Spec.VolumeClaimTemplates[i].Spec.StorageClassName = new(kind.StorageClass)
	}
}

// ordinals are those of the whole application.
func (v *move) ordinals() []int32 {
	var all []int32
	for i := range v.app.Replicas {
		all = append(all, v.app.Start+i)
	}
	return all
}

func folderOf(claim string, ordinal int32) string { return fmt.Sprintf("%s/%d", claim, ordinal) }

func journalsOf(v *move) []string {
	var dirs []string
	for _, claim := range v.app.Claims {
		for _, ordinal := range v.ordinals() {
			dirs = append(dirs, folderOf(claim, ordinal))
		}
	}
	return dirs
}

func volumesOf(v *move) []*corev1.PersistentVolume {
	var volumes []*corev1.PersistentVolume
	for _, claim := range v.app.Claims {
		for _, ordinal := range v.ordinals() {
			name := types.NamespacedName{Namespace: v.app.Namespace, Name: fmt.Sprintf("%s-%s-%d", claim, v.app.Name, ordinal)}
			volumes = append(volumes, replica.Volume(name, folderOf(claim, ordinal)))
		}
	}
	return volumes
}

// check reads every journal from its first byte to its last: each ordinal runs on one side,
// on volumes that are its own and whole, and no pod has written after another one had begun.
func (g *kindGround) check(v *move, verdict auditor.Report) error {
	var all []journal.Journal
	var errs []error
	for _, claim := range v.app.Claims {
		for _, ordinal := range v.ordinals() {
			read, err := v.journal(claim, ordinal)
			all, errs = append(all, read), append(errs, err)
		}
	}
	g.done.Add(cases.Row{Name: v.t.Name(), Verdict: &verdict, Journals: all})
	return errors.Join(errs...)
}

// journal is what an ordinal has written, asked of the side where it runs.
func (v *move) journal(claim string, ordinal int32) (journal.Journal, error) {
	var errs []error
	for _, at := range []end{v.there(), v.here()} {
		name := types.NamespacedName{Namespace: at.namespace, Name: fmt.Sprintf("%s-%d", at.set, ordinal)}
		pod, err := at.client.CoreV1().Pods(name.Namespace).Get(v.ctx, name.Name, metav1.GetOptions{})
		if err == nil && pod.DeletionTimestamp == nil {
			return replica.Journal(v.ctx, at.client, name, strconv.Itoa(int(ordinal)), "/"+claim)
		}
		errs = append(errs, err)
	}
	return journal.Journal{}, fmt.Errorf("ordinal %d runs nowhere: %w", ordinal, errors.Join(errs...))
}

// clear removes what a test made, unless it failed.
func (g *kindGround) clear(v *move) {
	namespaces := slices.Compact([]string{v.app.Namespace, v.toNamespace})
	if v.t.Failed() {
		v.t.Log(g.pair.Keep(v.t.Name(), namespaces...))
		return
	}
	var volumes []string
	for _, volume := range volumesOf(v) {
		volumes = append(volumes, volume.Name)
	}
	if err := g.pair.Clear(volumes, namespaces...); err != nil {
		v.t.Error(err)
	}
}

func (g *kindGround) close(failed bool) error {
	g.done.Print(os.Stdout)
	ctx := context.Background()
	if failed {
		return errors.Join(g.pair.KeepLogs(ctx), g.pair.Down(ctx))
	}
	return g.pair.Down(ctx)
}

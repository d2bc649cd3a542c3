package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// kindBackend runs two kind clusters with real kubelets. Their replicas write to their volumes once a second.
type kindBackend struct {
	pair *kind.Pair
	// image is the image of the replicas.
	image string
	done  cases.Table
}

// kindCluster is one of the two clusters.
type kindCluster struct {
	*kind.Cluster
	dir string
}

func (c kindCluster) Name() string { return c.Cluster.Name }

func (c kindCluster) RESTConfig() *rest.Config { return c.Config }

func (c kindCluster) Kubeconfig() string { return c.Cluster.Kubeconfig }

func (c kindCluster) UserKubeconfig(user string, groups ...string) (string, error) {
	return c.Cluster.UserKubeconfig(context.Background(), c.dir, user, groups...)
}

// Kind starts two kind clusters for the moves of a package.
func Kind(ctx context.Context) (end func(failed bool) error, err error) {
	pair, dir, err := KindPair(ctx, "e2e-kind-cases")
	if err != nil {
		return nil, err
	}
	b := &kindBackend{pair: pair}
	if err := b.prepare(ctx, dir); err != nil {
		return nil, errors.Join(err, b.close(true))
	}
	current, east, west = b, kindCluster{pair.East, dir}, kindCluster{pair.West, dir}
	return b.close, nil
}

// KindPair starts two kind clusters. They keep logs and other files in a folder of this name.
func KindPair(ctx context.Context, name string) (pair *kind.Pair, dir string, err error) {
	ctrl.SetLogger(logr.Discard())
	if dir, err = kind.EmptyDir(name); err != nil {
		return nil, "", err
	}
	pair, err = kind.Up(ctx, dir, os.Stderr)
	return pair, dir, err
}

func (b *kindBackend) prepare(ctx context.Context, dir string) error {
	image, err := b.pair.Workload(ctx, dir)
	if err != nil {
		return err
	}
	b.image = image
	for _, c := range b.pair.Both() {
		if err := errors.Join(setup.Storage(ctx, c), setup.CRDs(ctx, c)); err != nil {
			return err
		}
	}
	return nil
}

func (*kindBackend) limit() time.Duration { return 8 * time.Minute }

// deploy creates the volumes, each with a journal for its ordinal, and an application that writes to them.
func (b *kindBackend) deploy(v *Move) error {
	v.T.Cleanup(func() { b.clear(v) })
	v.App.Adapt = b.writing
	if err := setup.Namespace(v.Ctx, b.at(v.From), v.App.Namespace); err != nil {
		return err
	}
	if dirs := journalsOf(v); len(dirs) > 0 {
		if err := replica.Seed(v.Ctx, v.Source, replica.Seeder(b.image, v.App.Namespace, dirs...)); err != nil {
			return err
		}
	}
	for _, volume := range volumesOf(v) {
		if _, err := v.Source.CoreV1().PersistentVolumes().Create(v.Ctx, volume, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return v.App.Deploy(v.Ctx, v.Source)
}

func (b *kindBackend) at(s Cluster) *kind.Cluster {
	if s == east {
		return b.pair.East
	}
	return b.pair.West
}

// writing makes the pods of a StatefulSet write to all of their claims.
func (b *kindBackend) writing(set *appsv1.StatefulSet) {
	set.Spec.Template.Spec.AutomountServiceAccountToken = new(false)
	container := &set.Spec.Template.Spec.Containers[0]
	mounts, dirs := container.VolumeMounts, []string(nil)
	for _, mount := range mounts {
		dirs = append(dirs, mount.MountPath)
	}
	*container = replica.Container(b.image, replica.PodIndex, dirs...)
	container.VolumeMounts = mounts
	for i := range set.Spec.VolumeClaimTemplates {
		set.Spec.VolumeClaimTemplates[i].Spec.StorageClassName = new(kind.StorageClass)
	}
}

// check reads every journal from the first byte to the last. It proves that each ordinal runs on one side with
// its own intact volumes. It also proves that no pod wrote after another pod of the ordinal had begun.
func (b *kindBackend) check(v *Move, verdict auditor.Report) error {
	var all []journal.Journal
	var errs []error
	for _, claim := range v.App.Claims {
		for _, ordinal := range v.ordinals() {
			read, err := v.journal(claim, ordinal)
			all, errs = append(all, read), append(errs, err)
		}
	}
	b.done.Add(cases.Row{Name: v.T.Name(), Verdict: &verdict, Journals: all})
	return errors.Join(errs...)
}

// clear removes the objects of a test, unless the test failed.
func (b *kindBackend) clear(v *Move) {
	namespaces := slices.Compact([]string{v.App.Namespace, v.ToNamespace})
	if v.T.Failed() {
		v.T.Log(b.pair.Keep(v.T.Name(), namespaces...))
		return
	}
	var volumes []string
	for _, volume := range volumesOf(v) {
		volumes = append(volumes, volume.Name)
	}
	if err := b.pair.Clear(volumes, namespaces...); err != nil {
		v.T.Error(err)
	}
}

func (b *kindBackend) close(failed bool) error {
	b.done.Print(os.Stdout)
	ctx := context.Background()
	if failed {
		return errors.Join(b.pair.KeepLogs(ctx), b.pair.Down(ctx))
	}
	return b.pair.Down(ctx)
}

// ordinals returns all ordinals of the application.
func (v *Move) ordinals() []int32 {
	var all []int32
	for i := range v.App.Replicas {
		all = append(all, v.App.Start+i)
	}
	return all
}

func folderOf(claim string, ordinal int32) string { return fmt.Sprintf("%s/%d", claim, ordinal) }

func journalsOf(v *Move) []string {
	var dirs []string
	for _, claim := range v.App.Claims {
		for _, ordinal := range v.ordinals() {
			dirs = append(dirs, folderOf(claim, ordinal))
		}
	}
	return dirs
}

func volumesOf(v *Move) []*corev1.PersistentVolume {
	var volumes []*corev1.PersistentVolume
	for _, claim := range v.App.Claims {
		for _, ordinal := range v.ordinals() {
			name := types.NamespacedName{Namespace: v.App.Namespace, Name: fmt.Sprintf("%s-%s-%d", claim, v.App.Name, ordinal)}
			volumes = append(volumes, replica.Volume(name, folderOf(claim, ordinal)))
		}
	}
	return volumes
}

// journal returns the journal of an ordinal, read from the side on which its pod runs.
func (v *Move) journal(claim string, ordinal int32) (journal.Journal, error) {
	var errs []error
	for _, at := range []Endpoint{v.There(), v.Here()} {
		name := types.NamespacedName{Namespace: at.Namespace, Name: fmt.Sprintf("%s-%d", at.Set, ordinal)}
		pod, err := at.Client.CoreV1().Pods(name.Namespace).Get(v.Ctx, name.Name, metav1.GetOptions{})
		if err == nil && pod.DeletionTimestamp == nil {
			return replica.Journal(v.Ctx, at.Client, name, strconv.Itoa(int(ordinal)), "/"+claim)
		}
		errs = append(errs, err)
	}
	return journal.Journal{}, fmt.Errorf("ordinal %d runs nowhere: %w", ordinal, errors.Join(errs...))
}

package slices

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// large is the number of pods of the largest set. Its time per pod is compared with that of a set of many, which is
// measured smallRounds times.
const (
	large       = 5000
	smallRounds = 7
)

// memory lets separate managers create one set of few and one of many pods, and then another manager 1,000 sets of 5,
// and reads their memory peaks.
func (b *bench) memory(ctx context.Context) error {
	path, err := b.Command(ctx, "manager")
	if err != nil {
		return err
	}
	var few []size
	for round := range smallRounds {
		one, err := b.peak(ctx, path, fmt.Sprintf("few-%d", round), 1, many)
		if err != nil {
			return err
		}
		few = append(few, one)
	}
	slices.SortFunc(few, func(a, b size) int { return cmp.Compare(a.Seconds, b.Seconds) })
	one, err := b.peak(ctx, path, "large", 1, large)
	if err != nil {
		return err
	}
	b.figures.Growth = []size{few[len(few)/2], one}
	b.figures.TimeGrowth = one.perPod() / b.figures.Growth[0].perPod()
	b.figures.PeakOneLarge, b.figures.SecondsOneLarge = one.MiB, one.Seconds
	small, err := b.peak(ctx, path, "small", large/5, 5)
	b.figures.PeakManySmall, b.figures.SecondsMany = small.MiB, small.Seconds
	return err
}

func (s size) perPod() float64 { return s.Seconds / float64(s.Pods) }

// peak returns the memory peak of a manager that creates that many sets of that many pods, and the time until all are
// available. It deletes them afterwards.
func (b *bench) peak(ctx context.Context, path, namespace string, sets, replicas int32) (size, error) {
	if err := b.namespace(ctx, namespace); err != nil {
		return size{}, err
	}
	cmd := exec.CommandContext(ctx, path, "--kubeconfig", b.cluster.Kubeconfig(), "--leader-election-enabled=false", "--metrics-bind-address", "0",
		"--health-probe-bind-address", "0", "--log-format", "text", "--cluster-client-qps", "1000", "--cluster-client-burst", "2000")
	if err := child.Start(cmd); err != nil {
		return size{}, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	first := subject{b, ours, client.ObjectKey{Namespace: namespace, Name: "first"}}
	if err := first.create(ctx, 1, appsv1.ParallelPodManagement); err != nil { // the manager runs
		return size{}, err
	}
	b.Say("a manager creates %d sets of %d pods", sets, replicas)
	all := make([]subject, sets)
	var took []float64
	err := timed(ctx, &took, func() error {
		for i := range all {
			all[i] = subject{b, ours, client.ObjectKey{Namespace: namespace, Name: "set-" + strconv.Itoa(i)}}
			if err := all[i].make(ctx, replicas, appsv1.ParallelPodManagement); err != nil {
				return err
			}
		}
		for _, set := range all {
			if err := set.complete(ctx, int64(replicas)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return size{}, err
	}
	seconds := took[0]
	mib, err := measure.PeakMiB(cmd.Process.Pid)
	if err != nil {
		return size{}, err
	}
	file, err := measure.FileMiB(cmd.Process.Pid)
	if err != nil {
		return size{}, err
	}
	b.Say("%d pods after %.1f s, peak %.0f MiB, of which %.0f MiB are pages of the program file", sets*replicas, seconds, mib, file)
	for _, set := range slices.Concat(all, []subject{first}) {
		if err := client.IgnoreNotFound(b.client.Delete(ctx, set.object())); err != nil {
			return size{}, err
		}
	}
	return size{Pods: sets * replicas, Seconds: seconds, MiB: mib, FileMiB: file}, b.empty(ctx, namespace)
}

// empty waits until a namespace has no pods.
func (b *bench) empty(ctx context.Context, namespace string) error {
	return wait.PollUntilContextTimeout(ctx, time.Second, operationLimit, true, func(ctx context.Context) (bool, error) {
		var pods corev1.PodList
		err := b.client.List(ctx, &pods, client.InNamespace(namespace), client.Limit(1))
		return len(pods.Items) == 0, err
	})
}

package player_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

const (
	receiver, sender = "receiver-p1", "sender-p1"
	incoming, giver  = "sliceshift-in-x1-a1", "data-web-0"
)

// twoMovers creates both pods of a pass, with a tree to copy, and returns the two folders. before runs before their
// creation.
func twoMovers(t *testing.T, fill func(treetest.Tree), before ...func(from, to side)) (from, to side, source, destination string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("owners and devices need root")
	}
	from, to = pair(t)
	from.claim(giver, "")
	to.claim(incoming, "")
	source, destination = from.folder(giver), to.folder(incoming)
	fill(treetest.In(t, source))
	in := to.spec(receiver, incoming)
	in.Devices = true // the trees have device nodes
	out := from.spec(sender, giver)
	out.Connect = to.address(in)
	for _, each := range before {
		each(from, to)
	}
	to.create(manifest.Receiver(in))
	from.create(manifest.Sender(out))
	return from, to, source, destination
}

// introduce gives each of two movers the other's key.
func introduce(from, to side) {
	from.Helper()
	out, in := from.keyOf(sender), to.keyOf(receiver)
	to.tell(receiver, out)
	from.tell(sender, in)
}

func ended(m manifest.Mover) bool { return m.Ended }

// TestCopy: two pods in two clusters, which know each other by their annotations, copy a tree with all its attributes,
// and report the same root. Then they are removed when they are deleted.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, to, source, destination := twoMovers(t, treetest.Tree.Everything)
	introduce(from, to)
	out, in := from.await(sender, "has ended", ended), to.await(receiver, "has ended", ended)
	if !out.Done() || !in.Done() || in.Result.Result != report.Equal || in.Result.Root == "" || in.Result.Root != out.Result.Root {
		t.Fatalf("the sender: %+v %+v\nthe receiver: %+v %+v", out, out.Result, in, in.Result)
	}
	treetest.Equal(t, source, destination)
	from.delete(sender)
	to.delete(receiver)
	from.await(sender, "is gone", func(m manifest.Mover) bool { return !m.Found })
	to.await(receiver, "is gone", func(m manifest.Mover) bool { return !m.Found })
}

func small(to treetest.Tree) { to.File("file", treetest.Bytes(1, 100_000)) }

// TestKilled: a killed mover has ended without a result, and its peer continues to wait.
func TestKilled(t *testing.T) {
	t.Parallel()
	from, to, _, _ := twoMovers(t, small, func(_, to side) {
		to.on(receiver, player.StepStarted, player.Moment.Kill)
	})
	m := to.await(receiver, "has ended", ended)
	if m.Result != nil || m.Key == "" || m.Trouble != "its container mover ended with exit code 137" {
		t.Errorf("got %+v", m)
	}
	if m := from.await(sender, "is there", func(m manifest.Mover) bool { return m.Found }); m.Ended {
		t.Errorf("the sender has ended too: %+v", m)
	}
}

// TestDeleted: a mover that waits for its peer ends in time when it is deleted, and its object is deleted only then.
func TestDeleted(t *testing.T) {
	t.Parallel()
	from, _, _, _ := twoMovers(t, small)
	over := make(chan player.Moment, 1)
	from.on(sender, player.StepDelete, func(m player.Moment) {
		if _, err := from.client.CoreV1().Pods(from.namespace).Get(from.ctx, sender, metav1.GetOptions{}); err != nil {
			t.Errorf("its kubelet has not let it go: %v", err)
		}
		over <- m
	})
	from.keyOf(sender)
	from.delete(sender)
	from.await(sender, "is gone", func(m manifest.Mover) bool { return !m.Found })
	select {
	case <-over:
	default:
		t.Error("it went without its kubelet")
	}
}

// TestCutOff: a mover on a node that is cut off reports nothing although it has ended, and its object remains although
// it was deleted, until the node is back.
func TestCutOff(t *testing.T) {
	t.Parallel()
	from, to, _, _ := twoMovers(t, small)
	cut := make(chan player.Moment, 1)
	to.on(receiver, player.StepEnded, func(m player.Moment) {
		m.Silence()
		cut <- m
	})
	introduce(from, to)
	from.await(sender, "has ended", ended)
	node := <-cut
	to.delete(receiver)
	if m := to.await(receiver, "is Terminating", func(m manifest.Mover) bool { return m.Terminating }); m.Ended || m.Result != nil {
		t.Errorf("it says %+v", m)
	}
	node.Speak()
	to.await(receiver, "is gone", func(m manifest.Mover) bool { return !m.Found })
}

// TestFrozen: a mover on a frozen node continues after Thaw, and its peer has waited.
func TestFrozen(t *testing.T) {
	t.Parallel()
	frozen := make(chan player.Moment, 1)
	from, to, source, destination := twoMovers(t, small, func(_, to side) {
		to.on(receiver, player.StepStarted, func(m player.Moment) {
			m.Freeze()
			frozen <- m
		})
	})
	node := <-frozen
	out := from.keyOf(sender)
	to.tell(receiver, out)
	if m, err := to.see(to.ctx, receiver); err != nil || m.Ended {
		t.Errorf("it has gone on: %+v %v", m, err)
	}
	node.Thaw()
	from.tell(sender, to.keyOf(receiver))
	if m := to.await(receiver, "has ended", ended); !m.Done() {
		t.Errorf("got %+v", m)
	}
	treetest.Equal(t, source, destination)
}

// TestUnplayed: a pod with a volume that is not played fails and names it. Its author would otherwise wait for it.
func TestUnplayed(t *testing.T) {
	t.Parallel()
	from, _ := pair(t)
	from.claim(giver, "")
	from.folder(giver)
	pod := manifest.Sender(from.spec(sender, giver))
	pod.Spec.AutomountServiceAccountToken = nil // the API server adds a volume with the token
	from.create(pod)
	from.until("the pod has failed", func(ctx context.Context) (bool, error) {
		now, err := from.client.CoreV1().Pods(from.namespace).Get(ctx, sender, metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.PodFailed && strings.Contains(now.Status.Message, "kube-api-access"), err
	})
}

// TestDeadline: a pod that exceeds its deadline fails, as with a kubelet.
func TestDeadline(t *testing.T) {
	t.Parallel()
	from, _ := pair(t)
	from.claim(giver, "")
	from.folder(giver)
	spec := from.spec(sender, giver)
	spec.Connect, spec.Deadline = "127.0.0.1:9", time.Second
	from.create(manifest.Sender(spec))
	pod := func(ctx context.Context) *corev1.Pod {
		pod, err := from.client.CoreV1().Pods(from.namespace).Get(ctx, sender, metav1.GetOptions{})
		from.must(err)
		return pod
	}
	from.until("it has failed", func(ctx context.Context) (bool, error) { return pod(ctx).Status.Phase == corev1.PodFailed, nil })
	if got := pod(from.ctx).Status.Reason; got != "DeadlineExceeded" {
		t.Errorf("its reason is %q", got)
	}
}

// TestParked: a volume that is no longer bound to its claim is not mounted; it is mounted once it is bound again.
func TestParked(t *testing.T) {
	t.Parallel()
	from, _ := pair(t)
	from.claim(giver, "")
	from.folder(giver)
	volume := from.volume(giver)
	point := func(claim string, uid types.UID) {
		from.until("it is pointed at "+claim, func(ctx context.Context) (bool, error) {
			now, err := from.client.CoreV1().PersistentVolumes().Get(ctx, volume.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			now.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
			now.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: from.namespace, Name: claim, UID: uid}
			_, err = from.client.CoreV1().PersistentVolumes().Update(ctx, now, metav1.UpdateOptions{})
			return err == nil, ignoreConflict(err)
		})
	}
	point("parked", "")
	held := make(chan struct{})
	from.on(sender, player.StepMount, func(player.Moment) { close(held) })
	spec := from.spec(sender, giver)
	spec.Connect = "127.0.0.1:9"
	// The scheduler rejects a pod whose claim has lost its volume.
	pod := manifest.Sender(spec)
	pod.Spec.NodeName = "node-0"
	from.create(pod)
	<-held
	if m, err := from.see(from.ctx, sender); err != nil || m.Key != "" {
		t.Errorf("it runs: %+v %v", m, err)
	}
	point(giver, volume.Spec.ClaimRef.UID)
	from.keyOf(sender)
}

func ignoreConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// TestFirstConsumer: the mover's pod triggers the binding of a claim that waits for its first consumer.
func TestFirstConsumer(t *testing.T) {
	t.Parallel()
	from, _ := pair(t)
	class := "late-" + from.namespace
	_, err := from.client.StorageV1().StorageClasses().Create(from.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/host-path", VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}, metav1.CreateOptions{})
	from.must(err)
	t.Cleanup(func() {
		_ = from.client.StorageV1().StorageClasses().Delete(context.WithoutCancel(from.ctx), class, metav1.DeleteOptions{})
	})
	from.claim(incoming, class)
	from.create(manifest.Receiver(from.spec(receiver, incoming)))
	from.keyOf(receiver)
	from.folder(incoming)
}

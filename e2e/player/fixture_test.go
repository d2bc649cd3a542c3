package player_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/volumes/copy/manifest"
)

// side is a namespace in one of the two clusters.
type side struct {
	testing.TB
	ctx       context.Context //nolint:containedctx // a test has one context
	client    kubernetes.Interface
	player    *player.Player
	namespace string
}

// pair returns a source in one cluster and a destination in the other.
func pair(t testing.TB) (from, to side) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.TimeLimit())
	t.Cleanup(cancel)
	namespace := "movers-" + rand.String(6)
	var both [2]side
	for i, of := range []harness.Cluster{harness.East(), harness.West()} {
		both[i] = side{TB: t, ctx: ctx, client: kubernetes.NewForConfigOrDie(of.RESTConfig()), player: harness.Player(t, of), namespace: namespace}
		_, err := both[i].client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		both[i].must(err)
		both[i].until("there is a service account", func(ctx context.Context) (bool, error) {
			_, err := both[i].client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
	}
	return both[0], both[1]
}

func (s side) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s side) until(what string, so func(context.Context) (bool, error)) {
	s.Helper()
	if err := wait.PollUntilContextCancel(s.ctx, 20*time.Millisecond, true, so); err != nil {
		s.Fatalf("%s: %v", what, err)
	}
}

// claim creates a claim; class "" is the default class.
func (s side) claim(name, class string) {
	s.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
	if class != "" {
		claim.Spec.StorageClassName = &class
	}
	_, err := s.client.CoreV1().PersistentVolumeClaims(s.namespace).Create(s.ctx, claim, metav1.CreateOptions{})
	s.must(err)
}

// volume waits until a claim is bound and returns its volume.
func (s side) volume(claim string) (volume *corev1.PersistentVolume) {
	s.Helper()
	s.until("claim "+claim+" is bound", func(ctx context.Context) (bool, error) {
		c, err := s.client.CoreV1().PersistentVolumeClaims(s.namespace).Get(ctx, claim, metav1.GetOptions{})
		if err != nil || c.Status.Phase != corev1.ClaimBound {
			return false, err
		}
		volume, err = s.client.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
		return err == nil, err
	})
	return volume
}

// folder returns the folder with the content of a claim.
func (s side) folder(claim string) string {
	s.Helper()
	at := s.volume(claim).Spec.HostPath.Path
	s.Cleanup(func() { _ = os.RemoveAll(at) })
	return at
}

func (s side) create(pod *corev1.Pod) {
	s.Helper()
	_, err := s.client.CoreV1().Pods(s.namespace).Create(s.ctx, pod, metav1.CreateOptions{})
	s.must(err)
}

// see returns the current state of a mover in its cluster.
func (s side) see(ctx context.Context, name string) (manifest.Mover, error) {
	pod, err := s.client.CoreV1().Pods(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return manifest.Mover{}, nil
	}
	if err != nil {
		return manifest.Mover{}, err
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return manifest.Mover{}, errors.New("it is Ready, and a budget may count it")
		}
	}
	return manifest.Observe(pod), nil
}

// await waits until a mover satisfies a condition.
func (s side) await(name, what string, so func(manifest.Mover) bool) (m manifest.Mover) {
	s.Helper()
	s.until(name+" "+what, func(ctx context.Context) (done bool, err error) {
		m, err = s.see(ctx, name)
		return err == nil && so(m), err
	})
	return m
}

func (s side) keyOf(name string) string {
	s.Helper()
	return s.await(name, "has a key", func(m manifest.Mover) bool { return m.Key != "" }).Key
}

// tell writes the peer's fingerprint to a mover.
func (s side) tell(name, peer string) {
	s.Helper()
	m := s.await(name, "is there", func(m manifest.Mover) bool { return m.Found })
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"annotations":{%q:%q}}}`, m.UID, manifest.PeerAnnotationKey, peer)
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

func (s side) delete(name string) {
	s.Helper()
	s.must(s.client.CoreV1().Pods(s.namespace).Delete(s.ctx, name, metav1.DeleteOptions{}))
}

// address creates the Service of a claim and returns its external address.
func (s side) address(spec manifest.Spec) (address string) {
	s.Helper()
	_, err := s.client.CoreV1().Services(s.namespace).Create(s.ctx, manifest.ServiceFor(spec, corev1.ServiceTypeLoadBalancer), metav1.CreateOptions{})
	s.must(err)
	s.until("the Service has an address", func(ctx context.Context) (bool, error) {
		service, err := s.client.CoreV1().Services(s.namespace).Get(ctx, spec.Claim, metav1.GetOptions{})
		if err == nil {
			address = manifest.Address(service, &corev1.Pod{})
		}
		return address != "", err
	})
	return address
}

// on calls do at a step of one pod, once.
func (s side) on(name string, step player.Step, do func(player.Moment)) {
	s.Helper()
	done := false
	s.Cleanup(s.player.On(func(m player.Moment) {
		if m.Pod.Namespace == s.namespace && m.Pod.Name == name && m.Step == step && !done {
			done = true
			do(m)
		}
	}))
}

func (s side) spec(name, claim string) manifest.Spec {
	return manifest.Spec{Namespace: s.namespace, Name: name, Owner: "m", Fence: "m/1", Attempt: 1, Pass: 1, Claim: claim, Image: "sliceshift:test"}
}

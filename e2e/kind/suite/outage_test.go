package suite

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/disks"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// TestOutageOfCopy: a replica with 2 GiB, of which it overwrites blocks 20 times a second, moves to a disk of another
// provisioner. Its journal shows how long it did not write, beside a rolling restart of the same set.
func TestOutageOfCopy(t *testing.T) {
	t.Parallel()
	p := startProvisioners(t, "outage")
	a := p.alone(2 << 10)
	a.size, a.churns = "3Gi", true
	v := deploy(t, a)
	v.m.Spec.Volumes = p.copied(api.CopySpec{DowntimeBudget: &metav1.Duration{Duration: limit}}) // no outage is too long for it
	v.watch("data")                                                                              // the replica changes its data as soon as it starts: the journal judges
	w := v.witnessed()
	var parts api.OutageParts
	v.drive(v.mover(), func(m *api.Migration, _ engine.Outcome) error {
		if past := m.Status.History; past != nil && len(past.Handoffs) > 0 {
			parts = past.Handoffs[0].Outage
		}
		return nil
	})
	v.expectMoved()
	v.expectKnown(w, pair.West)
	v.expectSealed(disks.Late(p.west))
	v.rollOut(pair.West)
	journals := v.journals(pair.West)
	v.expectRuns(journals, 3)
	silences := cases.Silences(journals[0])
	v.audit(journals, fmt.Sprintf("2 GiB under writes: %.1f s without a line, a rolling restart %.1f s; stop %s, detach %s, carry %s, copy %s, start %s",
		silences[0].Seconds(), silences[1].Seconds(), parts.Stop.Duration, parts.Detach.Duration, parts.Carry.Duration, parts.Copy.Duration, parts.Start.Duration))
}

// rollOut does what kubectl rollout restart does to a set of one replica, and waits for its end.
func (v *move) rollOut(c *kind.Cluster) {
	v.t.Helper()
	pods := c.Client.CoreV1().Pods(v.app.namespace)
	before, err := pods.Get(v.ctx, name+"-0", metav1.GetOptions{})
	v.must(err)
	patch := []byte(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`)
	_, err = c.Client.AppsV1().StatefulSets(v.app.namespace).Patch(v.ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	v.must(err)
	v.must(v.awaitPod(c, name+"-0", func(pod *corev1.Pod) bool { return pod.UID != before.UID && fixture.IsReady(pod) }))
}

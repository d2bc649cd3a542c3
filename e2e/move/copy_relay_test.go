package move

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/volumes"
)

// byRelay makes both sides reachable only through their API servers.
func byRelay(v *harness.Move) {
	byCopy(v)
	v.Migration.Spec.Volumes[0].Copy.ServiceType = ""
	v.Migration.Spec.Volumes[0].Copy.Transport = api.TransportRelay
}

// TestCopyRelayed: ordinals move between two clusters that cannot reach each other. The process that moves them
// relays the bytes through both API servers, and no Service is created.
func TestCopyRelayed(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byRelay)
	expect := v.copied()
	v.Run(harness.CopyStep(volumes.CreateEntrance, "")(func() error { return errors.New("a Service is made that nobody needs") }))
	v.ExpectMoved()
	expect()
	v.expectSeals()
	v.Audit()
}

// TestCopyRelayBreaks: all forwarded connections break during the copy, and then the relaying process dies. The
// same two pods continue with the data that have arrived.
func TestCopyRelayBreaks(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byRelay, slowly)
	before := v.large()
	died := errors.New("the process dies")
	players := []*player.Player{harness.Player(t, v.From), harness.Player(t, v.To)}
	mover, broken := v.Mover(), 0
	underway := func(m *api.Migration) bool {
		handoff := m.Status.Handoff
		return handoff != nil && handoff.Volume("data").Copy.Warm.Passes == 0 && players[0].Forwarded(v.App.Namespace) > int64(1+broken)*much/8
	}
	err := harness.Follow(v.Ctx, t, mover, func(m *api.Migration, _ engine.Outcome) error {
		switch {
		case !underway(m):
			return nil
		case broken == 0:
			broken++
			players[0].BreakForwards(v.App.Namespace)
			players[1].BreakForwards(v.ToNamespace)
			return nil
		default:
			return died
		}
	})
	if !errors.Is(err, died) {
		t.Fatalf("the run ended with: %v", err)
	}
	receivers := v.receivers()
	v.Drive(mover, func(m *api.Migration, _ engine.Outcome) error {
		if handoff := m.Status.Handoff; handoff != nil && handoff.Volume("data").Copy.Warm.Passes == 0 {
			if now := v.receivers(); len(now) == 1 && now[0] != receivers[0] {
				return errors.New("another pod writes, where one did that had lost its relay")
			}
		}
		return nil
	})
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.expectSeals()
	v.Audit()
}

// receivers returns the UIDs of the receiver pods.
func (v *move) receivers() []string {
	v.T.Helper()
	at := v.There()
	pods, err := at.Client.CoreV1().Pods(at.Namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: "migration.sliceshift.io/mover=receiver"})
	v.Must(err)
	var uids []string
	for i := range pods.Items {
		uids = append(uids, string(pods.Items[i].UID))
	}
	return uids
}

// TestCopyRelayRights: "migrate run" relays, and reports it, if no way between the clusters is configured. It
// needs the right to forward ports, which is part of the shipped role. If the right is missing, the error comes
// before the first write and contains a command that grants it.
func TestCopyRelayRights(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byRelay)
	before := v.filled()
	v.Must(harness.Install())
	v.Must(v.makeNamespace())
	expect := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("no %q in:\n%s", part, out)
			}
		}
	}
	expect(v.relaysAs(v.mover(v.part("delete", "patch")), exitRefused),
		"create pods/portforward", " create role sliceshift-relay -n "+v.App.Namespace+" --verb=create --resource=pods/portforward", "sliceshift-mover-pods")
	v.ExpectSlice(v.Here(), 0, 1)
	expect(v.relaysAs(v.mover("sliceshift-mover-pods"), 0), "transport=relay", volumes.ReasonCopyRelayed)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.Audit()
}

// relaysAs moves by method Copy as a user, without configuring a way between the clusters.
func (v *move) relaysAs(user string, code int) string {
	v.T.Helper()
	from, err := v.From.UserKubeconfig(user)
	v.Must(err)
	to, err := v.To.UserKubeconfig(user)
	v.Must(err)
	return v.exits(exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), "run", v.App.Name, "-n", v.App.Namespace,
		"--kubeconfig", from, "--to-kubeconfig", to, "--volume", "data=copy,image=mover,devices=allow"), code)
}

package move

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// settledFor is the time for which an idle manager is watched.
const settledFor = 40 * time.Second

// auditLogs holds two clusters of this test, whose API servers log each write and its user.
type auditLogs struct{ east, west *cluster.Cluster }

func startWithAuditLogs(t *testing.T) auditLogs {
	t.Helper()
	policy := filepath.Join(t.TempDir(), "audit.yaml")
	const writes = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata","verbs":["create","update","patch","delete","deletecollection"]}]}`
	if err := os.WriteFile(policy, []byte(writes), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	all, err := cluster.StartAll(ctx, cluster.Options{Binary: binary(t), Args: map[cluster.Role][]string{
		cluster.APIServer: {"--audit-policy-file=" + policy, "--audit-log-path=logs/audit.log"},
	}}, "audited-east", "audited-west")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range all {
		each.StopAfter(t)
		if err := harness.Prepare(ctx, each); err != nil {
			t.Fatal(err)
		}
		if err := harness.InstallRoles(each); err != nil {
			t.Fatal(err)
		}
	}
	return auditLogs{east: all[0], west: all[1]}
}

// writesOf returns the writes of these users to either API server since a moment, except those of Leases.
func (a auditLogs) writesOf(since time.Time, users ...string) ([]string, error) {
	var found []string
	for _, at := range []*cluster.Cluster{a.east, a.west} {
		file, err := os.Open(filepath.Join(filepath.Dir(at.LogFile(cluster.APIServer)), "audit.log"))
		if err != nil {
			return nil, err
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event auditv1.Event
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				return nil, err
			}
			if lease := event.ObjectRef != nil && event.ObjectRef.Resource == "leases"; !lease && slices.Contains(users, event.User.Username) && event.RequestReceivedTimestamp.After(since) {
				found = append(found, fmt.Sprintf("%s after %.3f s: %s %s by %s", at.Name(), event.RequestReceivedTimestamp.Sub(since).Seconds(), event.Verb, event.RequestURI, event.UserAgent))
			}
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// quiet waits until the manager has written nothing for two seconds, because it sends several events
// concurrently and in no order.
func (a auditLogs) quiet(t *testing.T) (since time.Time) {
	t.Helper()
	for range 20 {
		since = time.Now()
		<-time.After(2 * time.Second)
		found, err := a.writesOf(since, fixture.ManagerUser, "mover")
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return since
		}
		t.Logf("%q", found)
	}
	t.Fatal("the manager does not stop writing")
	return since
}

// TestSettledManagerWritesNothing: a manager whose Migrations are completed, and whose StatefulSets are
// settled, writes only its Lease.
func TestSettledManagerWritesNothing(t *testing.T) {
	t.Parallel()
	in := startWithAuditLogs(t)
	kubeconfig, err := in.east.UserKubeconfig(fixture.ManagerUser)
	if err != nil {
		t.Fatal(err)
	}
	m := harness.ManagerWith(t, kubeconfig, "", "manager.log")
	m.Run()
	var moves []*move
	var records []client.Client
	for _, kind := range []string{native, slice} {
		v := newMove(t, harness.Usual(2), func(v *harness.Move) {
			v.From, v.To, v.Limit = in.east, in.west, 10*time.Minute
			if kind == slice {
				v.From, v.To, v.ToNamespace, v.Migration.Spec.Destination.APIVersion = in.east, in.east, v.App.Namespace+"-new", kind
			}
		})
		c := v.Managed()
		v.Must(c.Create(v.Ctx, v.Migration))
		moves, records = append(moves, v), append(records, c)
	}
	for i, v := range moves {
		v.Await(records[i], api.ConditionCompleted, metav1.ConditionTrue)
	}
	began := in.quiet(t)
	<-time.After(settledFor)
	found, err := in.writesOf(began, fixture.ManagerUser, "mover")
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range found {
		t.Error(each)
	}
}

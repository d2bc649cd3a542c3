package move

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// TestGuardedMoves: while all policies are enforced, the manager moves applications between namespaces and from
// another cluster.
func TestGuardedMoves(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "guarded", "--guard-volumes", "--fence")
	j.run("S1 S7 between namespaces, and back", judged.movesWithin)
	j.run("S1 S7 from another cluster", judged.movesInto)
	j.run("S1 a driver that is not allowed, before anything stops", judged.movesNothing)
	j.run("S1 S7 no expression is doubted by the API server", judged.typesAgree)
}

// movesWithin tests a move between namespaces, and its rollback, which an editor of the namespace requests.
func (j judged) movesWithin() {
	v := newMove(j.t, harness.Usual(2), within(j.Cluster), by((*move).csiVolumes))
	v.csiNode(2)
	v.Grant(v.Source, rbacv1.Subject{Kind: "ServiceAccount", Namespace: v.App.Namespace, Name: "default"})
	j.bounds(v.App.Namespace, map[string]string{
		"users":      "system:serviceaccount:" + v.App.Namespace + ":default",
		"namespaces": v.App.Namespace + "\n" + v.ToNamespace, "drivers": v.driver(),
	})
	j.boundsSoon("system:serviceaccount:" + v.App.Namespace + ":default")
	j.bind(v.App.Namespace, "edit", "editor")
	j.allows(func(ctx context.Context) error { return j.as("editor").Create(ctx, v.Migration.DeepCopy()) })
	startManagerWith(j.t, j.accountKubeconfig("sliceshift-system", "sliceshift-manager"), v.App.Namespace)
	v.awaitFewer(2)
	mode := func(mode string) {
		j.must(j.as("editor").Patch(v.Ctx, v.Migration.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"`+mode+`"}}`))))
	}
	mode("Rollback")
	if done := v.Await(j.client, api.ConditionCompleted, metav1.ConditionTrue); done.Reason != api.ReasonRolledBack {
		j.t.Errorf("completed with %s", done.Reason)
	}
	v.ExpectBack()
	mode("Run")
	v.Eventually("all have moved", func(ctx context.Context) (bool, error) {
		err := j.client.Get(ctx, client.ObjectKeyFromObject(v.Migration), v.Migration)
		done := meta.FindStatusCondition(v.Migration.Status.Conditions, api.ConditionCompleted)
		return done != nil && done.Status == metav1.ConditionTrue && done.Reason == api.ReasonMoved, err
	})
	v.ExpectMovedCleanly()
	j.must(j.as("editor").Delete(v.Ctx, v.Migration))
	v.Eventually("the Migration is gone", harness.Gone(j.client, v.Migration))
}

// movesInto tests a move from another cluster whose volumes a ConfigMap allows.
func (j judged) movesInto() {
	v := newMove(j.t, harness.Usual(2), func(v *harness.Move) { v.From, v.To = harness.East(), j.Cluster }, by((*move).csiVolumes))
	v.csiNode(2)
	c := v.Managed()
	j.bounds(v.App.Namespace, map[string]string{"users": "mover", "namespaces": v.App.Namespace, "drivers": v.driver()})
	j.boundsSoon("mover")
	harness.StartManager(j.t, v.App.Namespace)
	v.Must(c.Create(v.Ctx, v.Migration))
	v.awaitMoved(c)
}

// movesNothing tests that the migration reports the volumes that the destination would refuse before it stops
// an ordinal.
func (j judged) movesNothing() {
	for name, where := range map[string]harness.Setting{"from another cluster": func(v *harness.Move) { v.From, v.To = harness.East(), j.Cluster }, "between namespaces": within(j.Cluster)} {
		v := newMove(j.t, harness.Usual(1), where, by((*move).csiVolumes))
		v.csiNode(1)
		user := "system:serviceaccount:" + v.App.Namespace + ":default"
		c := v.Managed()
		if v.From == j.Cluster {
			c = j.client
		} else {
			user = "mover"
		}
		j.bounds(v.App.Namespace, map[string]string{"users": user, "drivers": "other.example.com"})
		j.refuses(j.makes(user, volumeOf("new", v.App.Namespace)), "is of disk.example.com")
		if v.From == j.Cluster {
			startManagerWith(j.t, j.accountKubeconfig("sliceshift-system", "sliceshift-manager"), v.App.Namespace)
		} else {
			harness.StartManager(j.t, v.App.Namespace)
		}
		v.Must(c.Create(v.Ctx, v.Migration))
		v.Eventually(name+": it is said", func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(v.Migration), v.Migration)
			for _, condition := range v.Migration.Status.Conditions {
				if strings.Contains(condition.Message, "is of "+v.driver()+", which is not among the drivers") && strings.Contains(condition.Message, "kubectl patch configmap ") {
					return true, nil
				}
			}
			return false, err
		})
		set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
		v.Must(err)
		if *set.Spec.Replicas != 1 {
			j.t.Errorf("%s: something was stopped: %d replicas are left", name, *set.Spec.Replicas)
		}
	}
}

// boundsSoon waits until the limits of a user are enforced.
func (j judged) boundsSoon(user string) {
	j.t.Helper()
	j.refuses(j.makes(user, ofNodes()["hostPath"]), "is of type hostPath")
}

// typesAgree checks that the API server compiles the policies with the types of their objects and has no
// warnings.
func (j judged) typesAgree() {
	policies := kubernetes.NewForConfigOrDie(j.RESTConfig()).AdmissionregistrationV1().ValidatingAdmissionPolicies()
	for _, name := range []string{"sliceshift-authors", "sliceshift-snapshots", "sliceshift-volumes", "sliceshift-fence"} {
		var policy *admissionregistrationv1.ValidatingAdmissionPolicy
		j.eventually("policy "+name+" is looked at", func(ctx context.Context) (err error) {
			if policy, err = policies.Get(ctx, name, metav1.GetOptions{}); err == nil && policy.Status.ObservedGeneration < policy.Generation {
				err = fmt.Errorf("generation %d of %d", policy.Status.ObservedGeneration, policy.Generation)
			}
			return err
		})
		if checked := policy.Status.TypeChecking; checked != nil {
			for _, warning := range checked.ExpressionWarnings {
				j.t.Errorf("%s: %s: %s", name, warning.FieldRef, warning.Warning)
			}
		}
	}
}

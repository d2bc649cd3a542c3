package move

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// TestCopyRights: to move by method Copy, a user needs one more shipped role and no other right. Each missing
// verb is named before the first write, together with the role.
func TestCopyRights(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy)
	before := v.filled()
	v.Must(harness.Install())
	v.Must(v.makeNamespace())
	refused := func(role string, lacks ...string) {
		out := v.runAs(v.mover(role), exitRefused)
		for _, verb := range []string{"create pods", "delete pods", "patch pods"} {
			if strings.Contains(out, verb) != slices.Contains(lacks, verb) {
				t.Errorf("with the role %q it lacks %v, but it says:\n%s", role, lacks, out)
			}
		}
		if !strings.Contains(out, "sliceshift-mover-pods") {
			t.Errorf("with the role %q the one that is needed is not named:\n%s", role, out)
		}
	}
	refused("", "delete pods", "patch pods") // every mover may create pods, for a dry run
	refused(v.part("patch"), "delete pods")
	refused(v.part("delete"), "patch pods")
	v.ExpectSlice(v.Here(), 0, 1)
	v.runAs(v.mover("sliceshift-mover-pods"), 0)
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.Audit()
}

// part creates a role with some of the verbs that movers need, and returns its name.
func (v *move) part(verbs ...string) string {
	v.T.Helper()
	role := fmt.Sprintf("%s-pods-of-%s", strings.Join(verbs, "-"), v.App.Namespace)
	for _, at := range []harness.Endpoint{v.Here(), v.There()} {
		_, err := at.Client.RbacV1().ClusterRoles().Create(v.Ctx, &rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}},
		}, metav1.CreateOptions{})
		v.Must(err)
	}
	return role
}

// mover creates a user with the rights of every mover and one additional role, in the two clusters.
func (v *move) mover(role string) (user string) {
	v.T.Helper()
	user = role + "-of-" + v.App.Namespace
	for _, at := range []harness.Endpoint{v.Here(), v.There()} {
		roles := []string{"sliceshift-mover"}
		if role != "" {
			roles = append([]string{role}, roles...)
		}
		v.allow(at.Client, "", "sliceshift-mover-cluster", user)
		for _, each := range roles {
			v.allow(at.Client, at.Namespace, each, user)
		}
		// The API server receives bindings in order, so the last one is enough.
		v.Must(fixture.AwaitRight(v.Ctx, at.Client, rbacv1.Subject{Kind: rbacv1.UserKind, Name: user},
			authorizationv1.ResourceAttributes{Namespace: at.Namespace, Verb: "patch", Group: "apps", Resource: "statefulsets"}))
	}
	return user
}

// runAs moves by method Copy as a user.
func (v *move) runAs(user string, code int) string {
	v.T.Helper()
	from, err := v.From.UserKubeconfig(user)
	v.Must(err)
	to, err := v.To.UserKubeconfig(user)
	v.Must(err)
	return v.exits(exec.CommandContext(v.Ctx, harness.Program(v.T, "migrate"), "run", v.App.Name, "-n", v.App.Namespace,
		"--kubeconfig", from, "--to-kubeconfig", to, "--volume", "data=copy,image=mover,service=load-balancer,devices=allow"), code)
}

// TestCopyMeetsAForeignPod: a foreign pod with the name of a mover pod is not touched. The copy continues after
// that pod is deleted.
func TestCopyMeetsAForeignPod(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy)
	before := v.filled()
	mover, met := v.Mover(), false
	var name string
	v.Drive(mover,
		harness.CopyStep(volumes.CreateEntrance, "")(func() error {
			m, err := mover.Store.Load(v.Ctx)
			if err != nil {
				return err
			}
			at := v.There()
			claim := volumes.Ref{Namespace: at.Namespace, Name: "data-" + at.Set + "-0"}
			name = copy.PodName(volumes.RoleReceiver, claim, m.UID, m.Status.Handoff.Volume("data").Copy.Number)
			return v.foreignPod(at, name)
		}),
		harness.StalledWith(volumes.ReasonForeignPod)(func() error {
			met = true
			return v.There().Client.CoreV1().Pods(v.ToNamespace).Delete(v.Ctx, name, metav1.DeleteOptions{})
		}),
	)
	if !met {
		t.Error("the foreign pod was not noticed")
	}
	v.ExpectMoved()
	v.expectCopies(v.There(), before)
	v.expectNoMovers()
	v.Audit()
}

// foreignPod creates a pod of another owner with this name.
func (v *move) foreignPod(at harness.Endpoint, name string) error {
	_, err := at.Client.CoreV1().Pods(at.Namespace).Create(v.Ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{api.OwnerAnnotationKey: "somebody"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

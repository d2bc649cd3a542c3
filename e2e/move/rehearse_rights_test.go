package move

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/child"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/player"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/stage"
)

// unrehearsed lists the rights of the roles of a rehearsal that no request of TestRehearseRights uses. TestRehearse uses
// those for snapshots. The API server itself asks for bind, when a RoleBinding is created. Gates ask pods and run Jobs
// in the namespace of a rehearsal as in that of a move. The other objects are copied if pods need them.
var unrehearsed = []string{
	"volumesnapshots.snapshot.storage.k8s.io", "volumesnapshotcontents.snapshot.storage.k8s.io", "volumesnapshotclasses.snapshot.storage.k8s.io",
	"clusterroles.rbac.authorization.k8s.io bind", "jobs.batch", "pods/proxy", "secretproviderclasses", "resourceclaimtemplates",
	"statefulsets.apps.sliceshift.io", "roles.rbac.authorization.k8s.io get", "serviceaccounts create", "persistentvolumes patch",
}

// rehearser binds the roles of a rehearsal to a user, with one at the destination and further ones in the source's
// namespace. It returns the user's kubeconfigs of the two clusters.
func (v *move) rehearser(user, destination string, roles ...string) (from, to string) {
	v.T.Helper()
	v.allow(v.Source, "", "sliceshift-rehearser-cluster", user)
	for _, role := range append(roles, "sliceshift-rehearser") {
		v.allow(v.Source, v.App.Namespace, role, user)
	}
	v.allow(v.Destination, "", destination, user)
	subject := rbacv1.Subject{Kind: rbacv1.UserKind, Name: user}
	v.Must(fixture.AwaitRight(v.Ctx, v.Source, subject, authorizationv1.ResourceAttributes{Namespace: v.App.Namespace, Verb: "get", Group: "apps", Resource: "statefulsets"}))
	v.Must(fixture.AwaitRight(v.Ctx, v.Destination, subject, authorizationv1.ResourceAttributes{Verb: "create", Resource: "namespaces"}))
	from, err := v.From.UserKubeconfig(user)
	v.Must(err)
	to, err = v.To.UserKubeconfig(user)
	v.Must(err)
	return from, to
}

// as runs a command as the user of these kubeconfigs.
func as(cmd *exec.Cmd, from, to string) *exec.Cmd {
	for i := range cmd.Args {
		switch cmd.Args[max(i-1, 0)] {
		case "--kubeconfig":
			cmd.Args[i] = from
		case "--to-kubeconfig":
			cmd.Args[i] = to
		}
	}
	return cmd
}

// needsSettings lets the pods of a set need a ConfigMap and a Secret.
func needsSettings(set *appsv1.StatefulSet) {
	spec := &set.Spec.Template.Spec
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		corev1.Volume{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "settings"}}})
}

// TestRehearseRights: a user with the roles of a rehearsal, and no others, rehearses with copies, and deletes what a
// killed process has left. No request is refused, and each right is used. In other namespaces the user has no rights.
// A user who may not bind the role is refused before anything is created.
func TestRehearseRights(t *testing.T) {
	treetest.NeedRoot(t)
	from, to := startAudited(t, "rehearse-from"), startAudited(t, "rehearse-to")
	for _, each := range []*audited{from, to} {
		each.migrate(0, "install", "--image", "example.com/manager:1")
		p, err := player.Start(context.WithoutCancel(t.Context()), player.Options{
			Config: each.RESTConfig(), Program: harness.Program(t, "mover"), Dir: filepath.Join(filepath.Dir(each.LogFile(cluster.Kwok)), "movers"),
			Enforces: func() bool { return true },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Stop)
	}
	v := newMove(t, harness.Usual(1), func(v *harness.Move) {
		v.From, v.To, v.Limit, v.App.Adapt = from.Cluster, to.Cluster, 5*time.Minute, needsSettings
	})
	meta := metav1.ObjectMeta{Namespace: v.App.Namespace, Name: "settings"}
	v.Must(from.client.Create(v.Ctx, &corev1.ConfigMap{ObjectMeta: meta}))
	v.Must(from.client.Create(v.Ctx, &corev1.Secret{ObjectMeta: meta}))
	v.large()
	before := v.sourceState()

	here, there := v.rehearser("stranger", "sliceshift-mover-cluster")
	if text := v.exits(as(v.rehearseCopy(""), here, there), 3); !strings.Contains(text, "create clusterrolebinding sliceshift-rehearser-destination") {
		t.Errorf("the role that is missing is not named:\n%s", text)
	}
	v.expectUntouched(before)

	const user = "rehearser"
	to.bounded()
	here, there = v.rehearser(user, "sliceshift-rehearser-destination", "sliceshift-mover-pods")
	v.exits(as(v.rehearseCopy(""), here, there), 0)
	v.expectUntouched(before)
	cmd := as(v.rehearseCopy(slowCopy), here, there)
	v.Must(child.Start(cmd))
	v.Eventually("a mover reads", func(context.Context) (bool, error) { return len(v.moversHere()) > 0, nil })
	v.Must(cmd.Process.Kill())
	_ = cmd.Wait()
	v.exits(as(v.rehearse("--clean"), here, there), 0)
	v.expectUntouched(before)
	if len(v.moversHere()) > 0 {
		t.Error("movers are left")
	}
	v.expectRights(t, from, to, user)
}

// bounded applies the policy that lets the role of a rehearsal be bound in the namespaces of rehearsals only, and waits
// until it refuses another one.
func (a *audited) bounded() {
	a.t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "config", "admission", "rehearsals.yaml"))
	if err != nil {
		a.t.Fatal(err)
	}
	defer file.Close()
	documents := utilyaml.NewYAMLOrJSONDecoder(file, 1<<12)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			a.t.Fatal(err)
		}
		if err := a.client.Create(a.t.Context(), object); err != nil {
			a.t.Fatal(err)
		}
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "stage"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: stage.StageRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "rehearser"}},
	}
	clientset := kubernetes.NewForConfigOrDie(a.RESTConfig())
	err = wait.PollUntilContextTimeout(a.t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := clientset.RbacV1().RoleBindings(binding.Namespace).Create(ctx, binding, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "in the namespace of a rehearsal only"), nil
	})
	if err != nil {
		a.t.Fatalf("the policy refuses nothing: %v", err)
	}
}

// expectRights compares the requests of a user with the roles of a rehearsal.
func (v *move) expectRights(t *testing.T, from, to *audited, user string) {
	t.Helper()
	used, refused := map[string]bool{}, map[string]bool{}
	for _, each := range []*audited{from, to} {
		u := each.used()
		maps.Copy(used, u.granted[user])
		maps.Copy(refused, u.refused[user])
	}
	if len(refused) > 0 {
		t.Errorf("refused: %v", slices.Sorted(maps.Keys(refused)))
	}
	for right := range shipped(t, "sliceshift-rehearser", "sliceshift-rehearser-cluster", "sliceshift-rehearser-destination", "sliceshift-rehearser-stage") {
		spared := slices.ContainsFunc(unrehearsed, func(prefix string) bool { return strings.HasPrefix(right, prefix) })
		if !used[right] && !spared {
			t.Errorf("nobody needs %s", right)
		}
	}
	for right := range used {
		if slices.Contains(unrehearsed, right) {
			t.Errorf("%s is used, and is listed as unused", right)
		}
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: metav1.NamespaceDefault, Verb: "create", Resource: "pods"},
	}}
	answer, err := v.Destination.AuthorizationV1().SubjectAccessReviews().Create(v.Ctx, review, metav1.CreateOptions{})
	v.Must(err)
	if answer.Status.Allowed {
		t.Error("the user may create pods in other namespaces")
	}
}

package move

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// errLetThrough reports that a policy allowed a request that it must refuse.
var errLetThrough = errors.New("it was let through")

// judged is a cluster that enforces the admission policies.
type judged struct{ *bare }

// startJudged starts a cluster and installs with these flags. The manager's pods never run, because no test
// needs them.
func startJudged(t *testing.T, name string, flags ...string) judged {
	t.Helper()
	b := startBare(t, name, cluster.Options{})
	b.says(b.migrate(0, append([]string{"install", "--wait=false", "--image", "example.com/manager:1"}, flags...)...), "sliceshift-authors created", "--check-authors=false")
	return judged{b}
}

// run runs a subtest.
func (j judged) run(name string, do func(judged)) {
	j.t.Helper()
	j.t.Run(name, func(t *testing.T) { do(judged{&bare{Cluster: j.Cluster, t: t, client: j.client}}) })
}

// as returns a client that impersonates a user.
func (j judged) as(user string, groups ...string) client.Client {
	j.t.Helper()
	config := j.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	c, err := client.New(config, client.Options{Scheme: j.client.Scheme()})
	j.must(err)
	return c
}

func (j judged) must(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

func (j judged) namespace(name string) {
	j.t.Helper()
	j.must(j.client.Create(j.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// bind binds a ClusterRole to users in a namespace, or in all namespaces if namespace is empty.
func (j judged) bind(namespace, role string, users ...string) {
	j.t.Helper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	rbac := kubernetes.NewForConfigOrDie(j.RESTConfig()).RbacV1()
	for _, user := range users {
		meta := metav1.ObjectMeta{Name: role + "-" + strings.ReplaceAll(user, "/", "-")}
		subjects := []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}}
		var err error
		if namespace == "" {
			_, err = rbac.ClusterRoleBindings().Create(j.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		} else {
			_, err = rbac.RoleBindings(namespace).Create(j.t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		}
		j.must(err)
	}
}

// role grants rules to a user in a namespace.
func (j judged) role(namespace, user string, rules ...rbacv1.PolicyRule) {
	j.t.Helper()
	rbac, meta := kubernetes.NewForConfigOrDie(j.RESTConfig()).RbacV1(), metav1.ObjectMeta{Name: "only-" + user}
	_, err := rbac.Roles(namespace).Create(j.t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	j.must(err)
	_, err = rbac.RoleBindings(namespace).Create(j.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	j.must(err)
}

// eventually polls, because an API server receives roles, policies and ConfigMaps through its watches.
func (j judged) eventually(what string, holds func(context.Context) error) {
	j.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(j.t.Context(), 20*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		found := holds(ctx)
		if found == nil || last == nil || ctx.Err() == nil { // an error of an expired context is meaningless
			last = found
		}
		return found == nil, nil
	})
	if err != nil {
		j.t.Fatalf("%s: %v", what, last)
	}
}

// refuses waits until a request is refused, and checks that the answer contains the texts. It returns the
// answer.
func (j judged) refuses(request func(context.Context) error, says ...string) string {
	j.t.Helper()
	var told string
	j.eventually("it is refused", func(ctx context.Context) error {
		err := request(ctx)
		if err == nil {
			return errLetThrough
		}
		told = err.Error()
		for _, each := range says {
			if !strings.Contains(told, each) {
				return &lacks{told, each}
			}
		}
		return nil
	})
	return told
}

// allows waits until a request is allowed.
func (j judged) allows(request func(context.Context) error) {
	j.t.Helper()
	j.eventually("it is let through", request)
}

// lacks is the error for an answer without the wanted text.
type lacks struct{ told, want string }

// Error implements error.
func (l *lacks) Error() string { return "it does not say " + l.want + ": " + l.told }

// mends runs the commands at the end of an answer in a shell, as an administrator does.
func (j judged) mends(told string) {
	j.t.Helper()
	at := strings.LastIndex(told, ": kubectl ")
	if at < 0 {
		j.t.Fatalf("no command is told: %s", told)
	}
	kubectl := j.Kubectl(j.t.Context())
	script := `kubectl() { "$KUBECTL" kubectl --kubeconfig="$CONFIG" "$@"; }; ` + told[at+len(": "):]
	shell := exec.CommandContext(j.t.Context(), "sh", "-c", script)
	shell.Env = slices.Concat(kubectl.Env, []string{"KUBECTL=" + kubectl.Path, "CONFIG=" + j.Kubeconfig()})
	out, err := shell.CombinedOutput()
	if err != nil {
		j.t.Fatalf("%s: %v: %s", told[at+len(": "):], err, out)
	}
}

package move

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/loopback"
)

// pageUsers holds the page of a manager and its users, each with a token. alice may edit Migrations, bob may
// view them, carol may only use the page, and dora may not even use it.
type pageUsers struct {
	*testing.T
	address, namespace string
	client             client.Client
	api                *kubernetes.Clientset
	http               *http.Client
	tokens             map[string]string
}

func newPageUsers(t *testing.T) *pageUsers {
	t.Helper()
	namespace, address := "t-"+rand.String(8), loopback.AddressFor(t)
	m := harness.NewManager(t, namespace, "manager.log")
	m.Args = append(m.Args, "--ui-bind-address", address)
	m.Run()
	c, err := harness.Client(harness.East())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it is nobody else's
	t.Cleanup(transport.CloseIdleConnections)
	p := &pageUsers{t, address, namespace, c, kubernetes.NewForConfigOrDie(harness.East().RESTConfig()), &http.Client{Transport: transport}, map[string]string{"nobody": "", "a forger": "forged"}}
	p.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	for _, name := range []string{"alice", "bob", "carol", "dora"} {
		p.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		p.tokens[name] = tokenOf(t, c, namespace, name)
	}
	page := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sliceshift-page-user"}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "page-" + namespace}, RoleRef: page, Subjects: p.subjects("alice", "bob", "carol")}
	if _, err := p.api.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.bind("sliceshift-migration-editor", "alice")
	p.bind("sliceshift-migration-viewer", "bob")
	moved := &api.Migration{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	moved.Spec.Source.Name, moved.Spec.Destination.Name = "web", "web-2"
	p.create(moved)
	return p
}

func (p *pageUsers) create(object client.Object) {
	p.Helper()
	if err := p.client.Create(p.Context(), object); err != nil {
		p.Fatal(err)
	}
}

func (p *pageUsers) subjects(names ...string) (all []rbacv1.Subject) {
	for _, name := range names {
		all = append(all, rbacv1.Subject{Kind: "ServiceAccount", Namespace: p.namespace, Name: name})
	}
	return all
}

func (p *pageUsers) bind(role, name string) {
	p.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: p.subjects(name),
	}
	if _, err := p.api.RbacV1().RoleBindings(p.namespace).Create(p.Context(), binding, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
}

// ask sends a request of a user as soon as the page is served. The caller closes the body of the response.
func (p *pageUsers) ask(ctx context.Context, who, method, path, body string) *http.Response {
	p.Helper()
	var response *http.Response
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, harness.TimeLimit(), true, func(context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, method, "https://"+p.address+path, strings.NewReader(body))
		if err != nil {
			return false, err
		}
		if token := p.tokens[who]; token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Origin", "https://"+p.address)
		}
		response, err = p.http.Do(request)
		return err == nil, nil
	})
	if err != nil {
		p.Fatal(err)
	}
	return response
}

func (p *pageUsers) answer(who, method, path, body string) (code int, said string) {
	p.Helper()
	response := p.ask(p.Context(), who, method, path, body)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// TestPageOfTheManager: users see and do only what their own rights allow. The page never uses the rights of
// the manager.
func TestPageOfTheManager(t *testing.T) {
	t.Parallel()
	p := newPageUsers(t)
	one := "/ui/api/migration/" + p.namespace + "/web/"
	if code, said := p.answer("nobody", http.MethodGet, "/ui/", ""); code != http.StatusOK || !strings.Contains(said, "<title>Moves</title>") {
		t.Errorf("the page is %d %s", code, said)
	}
	m := &api.Migration{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "web"}, m); err != nil {
		t.Fatal(err)
	}
	act := `{"verb":"pause","uid":"` + string(m.UID) + `","confirmed":"web"}`
	for _, tc := range []struct {
		who         string
		report, act int
	}{
		{"nobody", 401, 401}, {"a forger", 401, 401}, {"dora", 403, 403}, {"carol", 403, 403}, {"bob", 200, 403}, {"alice", 200, 200},
	} {
		if code, said := p.answer(tc.who, http.MethodGet, one+"report", ""); code != tc.report {
			t.Errorf("a report for %s is %d %s", tc.who, code, said)
		}
		if code, said := p.answer(tc.who, http.MethodPost, one+"act", act); code != tc.act {
			t.Errorf("an act of %s is %d %s", tc.who, code, said)
		}
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); err != nil || (m.Spec.Mode == api.ModePause) != (tc.act == http.StatusOK) {
			t.Errorf("after %s the mode is %s: %v", tc.who, m.Spec.Mode, err)
		}
	}
	plain, err := http.Get("http://" + p.address + "/ui/") //nolint:noctx // it is answered at once
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", plain.Status)
	}
	p.takeBack()
}

// takeBack checks that an open page of bob loses the Migration when his right is revoked.
func (p *pageUsers) takeBack() {
	p.Helper()
	ctx, stop := context.WithTimeout(p.Context(), harness.TimeLimit())
	defer stop()
	stream := p.ask(ctx, "bob", http.MethodGet, "/ui/api/events?namespaces="+p.namespace, "")
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 1<<20)
	until := func(part string) {
		p.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		p.Fatalf("the stream has ended without %s: %v", part, lines.Err())
	}
	until(`"key":"migration/` + p.namespace + `/web"`)
	if err := p.api.RbacV1().RoleBindings(p.namespace).Delete(p.Context(), "bob", metav1.DeleteOptions{}); err != nil {
		p.Fatal(err)
	}
	until(`["migration/` + p.namespace + `/web"]`) // the Migration is removed
}

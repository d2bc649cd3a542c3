package move

import (
	"bufio"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/cluster"
)

// audited is a cluster whose API server logs every request.
type audited struct {
	*bare
	log string
}

// auditPolicy logs the metadata of requests, not their content.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func startAudited(t *testing.T, name string, flags ...string) *audited {
	t.Helper()
	dir := t.TempDir()
	policy, log := filepath.Join(dir, "policy.yaml"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "--audit-policy-file="+policy, "--audit-log-path="+log)
	return &audited{startBare(t, name, cluster.Options{Args: map[cluster.Role][]string{cluster.APIServer: flags}}), log}
}

// request is one line of the audit log.
type request struct {
	User             user
	ImpersonatedUser *user
	// AuthenticationMetadata holds the verb of constrained impersonation by which the user impersonates another
	// user.
	AuthenticationMetadata *struct{ ImpersonationConstraint string }
	Verb                   string
	RequestURI             string
	ObjectRef              *struct{ APIGroup, Resource, Subresource string }
	ResponseStatus         struct {
		Code    int32
		Message string
	}
}

type user struct{ Username string }

// actor returns the user whose rights a request needs.
func (r *request) actor() string {
	if r.ImpersonatedUser != nil {
		return r.ImpersonatedUser.Username
	}
	return r.User.Username
}

// right returns the resource and the verb of a request, such as "pods/eviction create" or "statefulsets.apps
// get". It is empty for a request without a resource, because every user may read discovery data.
func (r *request) right() string {
	if r.ObjectRef == nil || r.ObjectRef.Resource == "" {
		return ""
	}
	return rightOf(r.ObjectRef.APIGroup, strings.TrimSuffix(r.ObjectRef.Resource+"/"+r.ObjectRef.Subresource, "/"), r.Verb)
}

func rightOf(group, resource, verb string) string {
	return strings.TrimSuffix(resource+"."+group, ".") + " " + verb
}

// usage holds the granted and refused rights by user.
type usage struct {
	granted map[string]map[string]bool
	refused map[string]map[string]bool
}

// used reads the audit log.
func (a *audited) used() usage {
	a.t.Helper()
	file, err := os.Open(a.log)
	if err != nil {
		a.t.Fatal(err)
	}
	defer file.Close()
	u := usage{map[string]map[string]bool{}, map[string]map[string]bool{}}
	lines := bufio.NewScanner(file)
	const longest = 1 << 20
	lines.Buffer(nil, longest)
	for lines.Scan() {
		r := &request{}
		if err := json.Unmarshal(lines.Bytes(), r); err != nil {
			a.t.Fatalf("%s: %v", lines.Text(), err)
		}
		u.add(r)
	}
	if err := lines.Err(); err != nil {
		a.t.Fatal(err)
	}
	return u
}

func (u usage) add(r *request) {
	into := u.granted
	if r.ResponseStatus.Code == http.StatusForbidden && !strings.Contains(r.ResponseStatus.Message, "exceeded quota") {
		into = u.refused
	}
	put := func(who, right string) {
		if into[who] == nil {
			into[who] = map[string]bool{}
		}
		if right != "" {
			into[who][right] = true
		}
	}
	put(r.actor(), r.right())
	if r.right() == podsCreate && !strings.Contains(r.RequestURI, "dryRun=All") {
		put(r.actor(), podsForGood)
	}
	if r.ImpersonatedUser == nil {
		return
	}
	if r.AuthenticationMetadata == nil || r.AuthenticationMetadata.ImpersonationConstraint == "" {
		put(r.User.Username, "serviceaccounts impersonate")
		return
	}
	put(r.User.Username, "serviceaccounts.authentication.k8s.io "+r.AuthenticationMetadata.ImpersonationConstraint)
}

// podsCreate is a right that the mover has only for a dry run; podsForGood marks a creation that is not a dry
// run.
const podsCreate, podsForGood = "pods create", "pods create, to be kept"

// together returns the rights that these users have used.
func together(rights map[string]map[string]bool, users ...string) map[string]bool {
	all := map[string]bool{}
	for _, user := range users {
		maps.Copy(all, rights[user])
	}
	return all
}

// shipped returns the individual rights that roles grant when impersonation is constrained.
func shipped(t *testing.T, roles ...string) map[string]bool {
	t.Helper()
	objects, err := config.ConstrainedObjects()
	if err != nil {
		t.Fatal(err)
	}
	rights := map[string]bool{}
	for _, object := range objects {
		if !strings.HasSuffix(object.GetKind(), "Role") || !slices.Contains(roles, object.GetName()) {
			continue
		}
		role := &rbacv1.ClusterRole{} // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						rights[rightOf(group, resource, verb)] = true
					}
				}
			}
		}
	}
	if len(rights) == 0 {
		t.Fatalf("no role is called %v", roles)
	}
	return rights
}

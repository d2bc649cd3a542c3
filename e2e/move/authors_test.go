package move

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestAuthors: a Migration gives its author no access to accounts and Secrets that the author may not use.
func TestAuthors(t *testing.T) {
	t.Parallel()
	j := startJudged(t, "authors")
	j.namespace("shop")
	j.authorsOfNew()
	j.editorsOfOld()
	j.managers()
}

// migrationOf returns a Migration in namespace shop. An empty Secret name means the cluster itself.
func migrationOf(name, account, source, destination string) *api.Migration {
	ref := func(name string) *api.SecretKeyReference {
		if name == "" {
			return nil
		}
		return &api.SecretKeyReference{Name: name}
	}
	return &api.Migration{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: api.MigrationSpec{
			Source:             api.SourceReference{Name: "web", KubeConfigSecretRef: ref(source)},
			Destination:        api.DestinationReference{Name: "next", KubeConfigSecretRef: ref(destination)},
			ServiceAccountName: account,
		},
	}
}

// creates returns a request by which a user creates a Migration as a dry run.
func (j judged) creates(user string, m *api.Migration) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error { return c.Create(ctx, m.DeepCopy(), client.DryRunAll) }
}

func (j judged) authorsOfNew() {
	for name, tc := range map[string]struct {
		user string
		m    *api.Migration
		says []string
	}{
		"S7 an account that its author may not impersonate": {
			"alice", migrationOf("web", "mover", "", ""),
			[]string{"Migration shop/web acts as ServiceAccount mover", "may not impersonate", "create role migrate-as-mover -n shop", "--resource-name=mover"},
		},
		"S7 no account, and any may be used": {
			"ann@example.com", migrationOf("web", "", "", "east"),
			[]string{"names no ServiceAccount", "every account of namespace shop", "spec.serviceAccountName", "create role migrate-as-any -n shop"},
		},
		"S7 the Secret of the destination": {
			"system:serviceaccount:ci:deployer", migrationOf("web", "", "west", "north"),
			[]string{"uses the kubeconfig in Secret west", "may not get", "create role migrate-with-west -n shop"},
		},
		"S7 the Secret of the source": {
			"https://issuer#a b", migrationOf("web", "", "west", ""),
			[]string{"names no ServiceAccount"},
		},
	} {
		j.run(name, func(j judged) {
			j.bind("shop", "sliceshift-migration-editor", tc.user)
			create := j.creates(tc.user, tc.m)
			told := j.refuses(create, append(tc.says, tc.user, "rolebinding")...)
			for range 3 { // each missing right is reported in turn
				j.mends(told)
				if told = j.next(create, told); told == "" {
					return
				}
			}
			j.t.Errorf("what is told does not mend it: %s", told)
		})
	}
	j.authorsWithRights()
}

// next waits until a request gets another answer, and returns it. It returns "" if the request is allowed.
func (j judged) next(request func(context.Context) error, before string) (told string) {
	j.t.Helper()
	j.eventually("what is told has mended it", func(ctx context.Context) error {
		err := request(ctx)
		if err == nil {
			told = ""
			return nil
		}
		if told = err.Error(); told == before {
			return err
		}
		return nil
	})
	return told
}

func (j judged) authorsWithRights() {
	j.bind("shop", "edit", "editor")
	j.bind("shop", "sliceshift-migration-editor", "mallory")
	j.role("shop", "mallory", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"mover"}, Verbs: []string{"impersonate"}})
	j.run("S7 who has edit may use all of the namespace", func(j judged) {
		for _, m := range []*api.Migration{migrationOf("web", "", "", ""), migrationOf("web", "mover", "east", "west")} {
			j.allows(j.creates("editor", m))
		}
	})
	j.run("S7 one account is not another", func(j judged) {
		j.allows(j.creates("mallory", migrationOf("web", "mover", "", "")))
		j.refuses(j.creates("mallory", migrationOf("web", "admin", "", "")), "ServiceAccount admin", "mallory may not impersonate")
		j.refuses(j.creates("mallory", migrationOf("web", "", "", "")), "names no ServiceAccount")
		j.refuses(j.creates("mallory", migrationOf("web", "mover", "", "west")), "Secret west")
		j.refuses(j.creates("mallory", migrationOf("web", "mover", "west", "")), "Secret west")
	})
	j.run("S7 the tokens of gates", func(j judged) {
		j.bind("shop", "sliceshift-migration-editor", "tess")
		j.role("shop", "tess", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"mover"}, Verbs: []string{"impersonate"}})
		with := func(secrets ...string) *api.Migration {
			m := migrationOf("web", "mover", "", "")
			for i, secret := range secrets {
				m.Spec.Gates = append(m.Spec.Gates, api.HealthGate{Name: fmt.Sprint("gate-", i), At: []api.GatePoint{api.GateAtEnd}, Prometheus: &api.PrometheusGate{
					PrometheusServer: api.PrometheusServer{Address: "https://prometheus", BearerTokenSecretRef: &api.SecretKeyReference{Name: secret}}, Query: "up", Expression: "true",
				}})
			}
			return m
		}
		j.allows(j.creates("editor", with("one", "two", "three", "four")))
		j.refuses(j.creates("editor", with("../one")), "bearerTokenSecretRef", "should match")
		told := j.refuses(j.creates("tess", with("one", "one")), "shows the token in Secret one", "tess may not get it", "create role migrate-with-one -n shop")
		j.mends(told)
		j.allows(j.creates("tess", with("one", "one", "one", "one")))
		told = j.refuses(j.creates("tess", with("one", "one", "two")), "shows the token in Secret two")
		j.mends(told)
		j.allows(j.creates("tess", with("two", "one", "two", "one")))
		told = j.refuses(j.creates("tess", with("one", "two", "three", "one")), "more than two Secrets", "create role migrate-with-any -n shop")
		j.mends(told)
		j.allows(j.creates("tess", with("one", "two", "three", "four")))
	})
	j.run("S7 what is no name", func(j judged) {
		for _, m := range []*api.Migration{migrationOf("web", "a$(id)", "", ""), migrationOf("web", "mover", "../west", ""), migrationOf("web", "mover", "", "a b")} {
			j.refuses(j.creates("editor", m), "should match")
		}
	})
	j.run("S7 a name that is a command", func(j judged) {
		j.bind("shop", "sliceshift-migration-editor", "x'; id #")
		j.refuses(j.creates("x'; id #", migrationOf("web", "mover", "", "")), `--user='x'\''; id #'`, "rolebinding migrate-as-mover'-x-; id #'")
	})
}

// patches returns a request by which a user patches a Migration.
func (j judged) patches(user, name, body string, options ...client.PatchOption) func(context.Context) error {
	c := j.as(user)
	return func(ctx context.Context) error {
		m := migrationOf(name, "", "", "")
		return c.Patch(ctx, m, client.RawPatch(types.MergePatchType, []byte(body)), options...)
	}
}

// editorsOfOld tests which fields of another user's Migration bob may change. Bob may write Migrations, but may
// not use their accounts and Secrets.
func (j judged) editorsOfOld() {
	j.bind("shop", "sliceshift-migration-editor", "bob")
	old := migrationOf("old", "mover", "", "")
	old.Spec.SplitBudget, old.Spec.Cleanup.Source = api.SplitBudgetSource, api.CleanupRetain
	j.must(j.client.Create(j.t.Context(), old))
	patch := func(body string) func(context.Context) error { return j.patches("bob", "old", body, client.DryRunAll) }
	for name, body := range map[string]string{
		"a label":   `{"metadata":{"labels":{"a":"b"}}}`,
		"a pause":   `{"spec":{"mode":"Pause"}}`,
		"no change": `{"spec":{"mode":"Run"}}`,
	} {
		j.run("S7 without the rights: "+name, func(j judged) { j.allows(patch(body)) })
	}
	held := `{"metadata":{"annotations":{"` + api.EvacuationHeldAnnotationKey + `":"all"}},"spec":{"mode":"Pause"}}`
	freed := `{"metadata":{"annotations":{"` + api.EvacuationHeldAnnotationKey + `":null}},"spec":{"mode":"Pause"}}`
	j.run("S7 without the rights: a pause against an Evacuation", func(j judged) {
		j.refuses(patch(held), "bob may not impersonate")
		j.must(j.patches("editor", "old", held)(j.t.Context()))
		j.allows(patch(freed))
		j.must(j.patches("editor", "old", `{"metadata":{"annotations":{"`+api.EvacuationHeldAnnotationKey+`":null}},"spec":{"mode":"Run"}}`)(j.t.Context()))
	})
	orders := map[string]string{
		"a rollback":                   `{"spec":{"mode":"Rollback"}}`,
		"a recovery":                   `{"spec":{"mode":"Recover","recovery":{"destinationIsOff":"x"}}}`,
		"another account":              `{"spec":{"serviceAccountName":"admin"}}`,
		"a larger budget":              `{"spec":{"maxUnavailable":3}}`,
		"a pause, and a larger budget": `{"spec":{"mode":"Pause","maxUnavailable":3}}`,
		"a pause, and a deletion":      `{"spec":{"mode":"Pause","cleanup":{"source":"Delete"}}}`,
		"a pause, and one field less":  `{"spec":{"mode":"Pause","serviceAccountName":null}}`,
	}
	for name, body := range orders {
		j.run("S7 without the rights: "+name, func(j judged) { j.refuses(patch(body), "bob", "may not impersonate") })
	}
	j.run("S7 without the rights: a pause for good, and no resume", func(j judged) {
		j.must(j.patches("bob", "old", `{"spec":{"mode":"Pause"}}`)(j.t.Context()))
		j.refuses(patch(`{"spec":{"mode":"Run"}}`), "bob may not impersonate")
	})
	j.run("S7 with the rights: whatever was refused", func(j judged) {
		for _, body := range orders {
			j.allows(j.patches("editor", "old", body, client.DryRunAll))
		}
	})
}

// managers tests that the manager's own writes need no rights to accounts and Secrets. User clerk has only the
// rights for these writes.
func (j judged) managers() {
	j.role("shop", "clerk",
		rbacv1.PolicyRule{APIGroups: []string{api.GroupVersion.Group}, Resources: []string{"migrations"}, Verbs: []string{"get", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{api.GroupVersion.Group}, Resources: []string{"migrations/status"}, Verbs: []string{"patch"}})
	j.run("S7 the manager's finalizers and status", func(j judged) {
		j.allows(j.patches("clerk", "old", `{"metadata":{"finalizers":["`+api.Finalizer+`"]}}`))
		j.must(j.patches("clerk", "old", `{"metadata":{"finalizers":null}}`)(j.t.Context()))
		m := migrationOf("old", "", "", "")
		j.must(j.client.Get(j.t.Context(), client.ObjectKeyFromObject(m), m))
		m.Status.ObservedGeneration = m.Generation
		j.must(records.Resource{Client: j.as("clerk"), Namespace: m.Namespace, Name: m.Name}.Save(j.t.Context(), m))
	})
	j.run("S7 the manager sets the mode, and nothing else", func(j judged) {
		j.allows(j.patches("clerk", "old", `{"spec":{"mode":"Rollback"}}`))
		j.refuses(j.patches("clerk", "old", `{"spec":{"mode":"Run","maxUnavailable":2}}`), "ServiceAccount mover", "clerk may not impersonate")
		j.refuses(j.patches("clerk", "old", `{"metadata":{"labels":{"`+api.EvacuationLabelKey+`":"all"}}}`), "ServiceAccount mover", "clerk may not impersonate")
	})
	j.run("S7 a deletion", func(j judged) {
		j.must(j.as("bob").Delete(j.t.Context(), migrationOf("old", "", "", "")))
	})
}

package config

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/recipes"
)

func allRecipes(t *testing.T) []recipes.Recipe {
	t.Helper()
	files, err := Recipes()
	if err != nil {
		t.Fatal(err)
	}
	all, err := recipes.All(files)
	if err != nil || len(all) < 8 {
		t.Fatalf("%d recipes: %v", len(all), err)
	}
	return all
}

// TestRecipesAreAdmitted: the API server accepts every spec that a recipe produces, and the engine can run it.
func TestRecipesAreAdmitted(t *testing.T) {
	admission := newAdmission(t, api.GroupVersion.Group)
	for _, r := range allRecipes(t) {
		t.Run(r.Name, func(t *testing.T) {
			filled, err := r.Fill(r.Sample())
			if err != nil {
				t.Fatal(err)
			}
			m := api.Migration{
				TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupVersion.String(), Kind: "Migration"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
				Spec: api.MigrationSpec{
					Source: api.SourceReference{Name: "web"}, Destination: api.DestinationReference{KubeConfigSecretRef: &api.SecretKeyReference{Name: "west"}},
				},
			}
			r.Apply(&m.Spec, filled, recipes.Given{})
			for _, gate := range m.Spec.Gates {
				if _, err := health.New(gate, health.Sides{}); err != nil {
					t.Errorf("gate %s cannot be asked: %v", gate.Name, err)
				}
			}
			for _, problem := range admission.judge(t, objectOf(t, m)) {
				t.Error(problem)
			}
		})
	}
}

// TestRecipesStateRehearsals: every recipe states whether its system may be rehearsed. Members that know the running
// system from their disks may not.
func TestRecipesStateRehearsals(t *testing.T) {
	joins := []string{"cassandra", "elasticsearch", "etcd", "kafka", "patroni", "rabbitmq", "redis-cluster", "zookeeper"}
	for _, r := range allRecipes(t) {
		switch want := slices.Contains(joins, r.Name); {
		case r.Rehearsal == nil:
			t.Errorf("recipe %s states nothing", r.Name)
		case (r.Rehearsal.Verdict == recipes.Never) != want:
			t.Errorf("recipe %s: a rehearsal is %s", r.Name, r.Rehearsal.Verdict)
		}
	}
}

// objectOf returns a Migration as a user writes it, without a status.
func objectOf(t *testing.T, m api.Migration) map[string]any {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	return object
}

// TestRecipesScripts: a shell can parse every script of a Job, and the script stops at the first error.
func TestRecipesScripts(t *testing.T) {
	for _, r := range allRecipes(t) {
		filled, err := r.Fill(r.Sample())
		if err != nil {
			t.Fatal(err)
		}
		jobs := map[string]batchv1.JobSpec{}
		for _, gate := range filled.Gates {
			if gate.Job != nil {
				jobs[gate.Name] = gate.Job.Spec.JobSpec
			}
		}
		for _, hook := range filled.Hooks {
			jobs[hook.Name] = hook.Job.Spec.JobSpec
		}
		for name, job := range jobs {
			t.Run(r.Name+" "+name, func(t *testing.T) {
				if job.ActiveDeadlineSeconds == nil || job.BackoffLimit == nil {
					t.Error("it has no deadline, or no limit of attempts")
				}
				container := job.Template.Spec.Containers[0]
				if got := strings.Join(container.Command, " "); got != "sh -euc" || len(container.Args) != 1 {
					t.Fatalf("it runs %q with %d arguments", got, len(container.Args))
				}
				cmd := exec.CommandContext(t.Context(), "sh", "-n")
				cmd.Stdin = strings.NewReader(container.Args[0])
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
}

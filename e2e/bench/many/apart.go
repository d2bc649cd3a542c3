package many

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/measure"
)

// lookAgain is the poll interval for slow conditions.
const lookAgain = 100 * time.Millisecond

// apart counts requests of the manager that its own metric counts as reads or as writes.
type apart struct {
	watches int
	// reviews are access reviews: they are created, and write nothing.
	reviews int
	// dryRuns are dry-run writes. No other client sends them at that time.
	dryRuns int
}

func (a apart) sub(before apart) apart {
	return apart{watches: a.watches - before.watches, reviews: a.reviews - before.reviews, dryRuns: a.dryRuns - before.dryRuns}
}

const (
	schemaOfWatches = "bench-watches"
	schemaOfReviews = "bench-reviews"
)

// schemas match the watches and the reviews of the manager and of its identities. The requests stay in their original
// priority level: that of service accounts, and that of all others. The manager's own user is a name in a certificate,
// without the group of service accounts.
func schemas() []*flowcontrolv1.FlowSchema {
	accounts := flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: serviceaccount.AllServiceAccountsGroup}}
	user := func(name string) flowcontrolv1.Subject {
		return flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: name}}
	}
	rule := func(verb, group string) flowcontrolv1.ResourcePolicyRule {
		return flowcontrolv1.ResourcePolicyRule{
			Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{rbacv1.ResourceAll},
			ClusterScope: true, Namespaces: []string{flowcontrolv1.NamespaceEvery},
		}
	}
	var all []*flowcontrolv1.FlowSchema
	for name, matches := range map[string]flowcontrolv1.ResourcePolicyRule{
		schemaOfWatches: rule("watch", rbacv1.APIGroupAll), schemaOfReviews: rule("create", authorizationv1.GroupName),
	} {
		all = append(all, schema(name+"-of-accounts", "workload-low", matches, accounts),
			schema(name+"-of-users", "global-default", matches, user(fixture.ManagerUser), user(measure.Mover)))
	}
	return all
}

func schema(name, level string, matches flowcontrolv1.ResourcePolicyRule, subjects ...flowcontrolv1.Subject) *flowcontrolv1.FlowSchema {
	const precedence = 1000 // before the schemas of service accounts and of all users, after those of control planes
	return &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level},
			MatchingPrecedence:         precedence,
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules:                      []flowcontrolv1.PolicyRulesWithSubjects{{Subjects: subjects, ResourceRules: []flowcontrolv1.ResourcePolicyRule{matches}}},
		},
	}
}

// tellApart lets an API server count the watches and the reviews of the manager, and waits until it does.
func tellApart(ctx context.Context, at kubernetes.Interface) error {
	for _, schema := range schemas() {
		if _, err := at.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{}); err != nil {
			return err
		}
		err := wait.PollUntilContextTimeout(ctx, lookAgain, time.Minute, true, func(ctx context.Context) (bool, error) {
			return isUsed(ctx, at, schema.Name)
		})
		if err != nil {
			return fmt.Errorf("FlowSchema %s is not in use: %w", schema.Name, err)
		}
	}
	return nil
}

// isUsed reports whether an API server uses a schema: it writes this condition once it does.
func isUsed(ctx context.Context, at kubernetes.Interface, name string) (bool, error) {
	found, err := at.FlowcontrolV1().FlowSchemas().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == flowcontrolv1.FlowSchemaConditionDangling {
			return condition.Status == flowcontrolv1.ConditionFalse, nil
		}
	}
	return false, nil
}

// dispatched matches the number of requests that an API server has dispatched for one of the schemas.
var dispatched = regexp.MustCompile(`(?m)^apiserver_flowcontrol_dispatched_requests_total\{flow_schema="(bench-[a-z]+)-of-[^}]*\} (\S+)$`)

// dryRun matches the number of dry runs of one kind that an API server has answered.
var dryRun = regexp.MustCompile(`(?m)^apiserver_request_total\{.*dry_run="All".*\} (\S+)$`)

// apart returns the watches, the reviews and the dry runs of the manager in all clusters so far.
func (s *stage) apart(ctx context.Context) (apart, error) {
	var sum apart
	for _, one := range s.sides() {
		metrics, err := one.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		if err != nil {
			return apart{}, fmt.Errorf("cluster %s: reading the API server's metrics: %w", one.Name(), err)
		}
		there, err := sumApart(metrics)
		if err != nil {
			return apart{}, fmt.Errorf("cluster %s: %w", one.Name(), err)
		}
		sum.watches += there.watches
		sum.reviews += there.reviews
		sum.dryRuns += there.dryRuns
	}
	return sum, nil
}

func sumApart(metrics []byte) (apart, error) {
	var sum apart
	for _, match := range dispatched.FindAllSubmatch(metrics, -1) {
		n, err := count(match[2])
		if err != nil {
			return apart{}, err
		}
		switch string(match[1]) {
		case schemaOfWatches:
			sum.watches += n
		case schemaOfReviews:
			sum.reviews += n
		}
	}
	for _, match := range dryRun.FindAllSubmatch(metrics, -1) {
		n, err := count(match[1])
		if err != nil {
			return apart{}, err
		}
		sum.dryRuns += n
	}
	return sum, nil
}

// count parses the value of a counter in metrics.
func count(value []byte) (int, error) {
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
	return int(n), err
}

package pages

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/internal/manual"
)

// rule assigns commands to a world.
type rule struct {
	// verb matches commands; the first matching rule applies.
	verb *regexp.Regexp
	// world is the world in which they run.
	world *world
	how
}

// how holds the expectations of a command.
type how struct {
	// exit is the exit code.
	exit int
	// says matches a line of a command that runs until it is interrupted. leads then follows that line before
	// the interrupt.
	says  *regexp.Regexp
	leads func(s *scene, match []string) error
	// reply is the answer to a command that prompts.
	reply string
	// first is a command that runs before and makes this command meaningful; ready runs after first.
	first string
	ready func(*scene)
	// after is a command that must succeed when this command has ended.
	after string
}

func in(w *world, verb string, more ...func(*how)) rule {
	r := rule{verb: regexp.MustCompile(`^(kubectl )?` + verb), world: w}
	for _, each := range more {
		each(&r.how)
	}
	return r
}

func exits(code int) func(*how) { return func(h *how) { h.exit = code } }

func says(line string) func(*how) { return func(h *how) { h.says = regexp.MustCompile(line) } }

func leads(to func(s *scene, match []string) error) func(*how) {
	return func(h *how) { h.leads = to }
}

func replies(text string) func(*how) { return func(h *how) { h.reply = text } }

func first(command string) func(*how) { return func(h *how) { h.first = command } }

func ready(do func(*scene)) func(*how) { return func(h *how) { h.ready = do } }

func after(command string) func(*how) { return func(h *how) { h.after = command } }

// served matches the address that serves a page.
const served = `http://127\.0\.0\.1`

// Commands of the pages that prepare other commands.
const (
	removed         = "kubectl migrate uninstall --crds"
	installed       = "kubectl migrate install --image registry.example.com/sliceshift-manager:v1"
	printed         = installed + " --print >install.yaml"
	cleared         = removed + "; kubectl delete namespace sliceshift-system --ignore-not-found"
	installedByHelm = "helm install sliceshift charts/sliceshift -n sliceshift-system --create-namespace --wait"
	evacuates       = "kubectl migrate evacuate -n shop --context east --to-context west --create all --create-in shop --destination-secret west --service-account mover || true"
	uncharted       = "helm uninstall sliceshift -n sliceshift-system --wait;" + cleared
)

// claimed creates a claim in west that no pod uses.
const claimed = `kubectl create --context west -f - <<'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-web-2, namespace: shop}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
YAML`

// rules assign every command that no other test runs.
var rules = []rule{
	in(shaped, `migrate run .*--recipe`, says(`moving StatefulSet`)),
	in(fresh, `migrate run .*--in-place`, says(`changing the storage of StatefulSet`)),
	in(fresh, `migrate run .*data=copy`, says(`moving StatefulSet`)),
	in(charted, `helm install .*--create-namespace`, first(cleared), after(uncharted)),
	in(charted, `helm install `, first(cleared+";kubectl create namespace sliceshift-system"), after(uncharted)),
	in(charted, `helm uninstall `, first(cleared+";"+installedByHelm), after(cleared)),
	in(charted, `helm upgrade `, first(cleared+";"+installedByHelm), after(uncharted)),
	in(charted, `port-forward `, first(cleared+";"+installedByHelm+" --set ui.enabled=true"), ready((*scene).servePage),
		says(`Forwarding from 127\.0\.0\.1:(\d+) `), leads((*scene).pageIsThere), after(uncharted)),
	in(charted, `logs .*deployment/`, first(cleared+";"+installed)),
	in(before, `exec .*--context east`),
	in(moved, `logs .*--context west`),
	in(hooking, `logs .*job/`),

	in(before, `migrate plan .*--exit-code`, exits(1)),
	in(granted, `migrate evacuate .*--create `),
	in(before, `migrate (plan|evacuate|preflight|recipes|version|completion|explain|storage)\b`),
	in(before, `migrate create .*--dry-run`),
	in(before, `migrate ui `, says(served)),
	in(managed, `edit migration `),
	in(before, `(rollout status sts|edit|annotate pdb|create token|source|chmod) ?`, first("kubectl create serviceaccount on-call -n shop || true")),
	in(moved, `migrate run .*--context west`),
	in(adopted, `migrate run .*--api-version`),
	in(fresh, `migrate run .* --hooks`, says(`hand-over`)),
	in(fresh, `migrate run .* --window`, says(`(?i)window|web-2`)),
	in(fresh, `migrate run `),
	in(granted, `migrate status evacuation/.* -w`, first(evacuates), says(`ordinals`)),
	in(granted, `migrate report evacuation/.* -o svg`, first(evacuates), exits(3)), // it has not begun
	in(granted, `migrate (status|report|pause|resume|rollback) evacuation/`, first(evacuates)),
	in(moved, `migrate (status|report|kept)\b`),
	in(moved, `delete (configmap sliceshift|sts,pdb|pvc .*-l)`),
	in(split, `migrate budget `),
	in(lost, `migrate recover .*(--dry-run|--destination-is-off)`),
	in(lost, `migrate recover `, replies("west is off")),
	in(hooked, `migrate hooks retry `, after(hookFails)),
	in(hooked, `migrate hooks skip `),
	in(moving, `migrate (pause|resume|rollback|gates) `),
	in(granted, `migrate create `),
	in(granted, `wait .*=Paused`, first(creates+" --mode pause")),
	in(native, `migrate adopt `),
	in(native, `delete sts .*--cascade`),
	in(ours, `(migrate (rollout|set|logs|expose)|annotate slice|patch slice|get slice|wait slice) `),

	in(bare, `migrate install .*--print`),
	in(bare, `apply .*-k config`, first(removed), after("kubectl delete -k config")),
	in(bare, `apply .*install.yaml`, first(removed+";"+printed), after("kubectl delete -f install.yaml")),
	in(bare, `delete -k config`, first(removed+";kubectl apply --server-side -k config")),
	in(bare, `delete -f install.yaml`, first(removed+";"+printed+";kubectl apply --server-side -f install.yaml")),
	in(bare, `rollout undo deployment`, first(removed+";"+installed+" --image registry.example.com/a;"+installed+" --image registry.example.com/b"), after(removed)),
	in(bare, `(label namespace|rollout restart deployment|create clusterrolebinding|get pods,lease|get deployment) ?`, first(installed)),
	in(bare, `name=sliceshift-manager-metrics`, first(installed)),
	in(bare, `delete migrations --all`, first(installed)),
	in(bare, `patch configmap argocd-cm `, first("kubectl create namespace argocd; kubectl create configmap argocd-cm -n argocd")),
	in(bare, `migrate install --(guard-volumes|impersonation)`, first(installed)),
	in(bare, `migrate (install|uninstall)\b`),
	in(bare, `apply -f config/monitoring`),

	in(before, `delete pvc .*--context west`, first(claimed)),
	in(granted, `create rolebinding .*--context west`),
	in(handmade, `(create|config|apply|delete -f config|wait migration|patch migration .*"spec":\{"mode") ?`),
	in(handmade, `user=`),
	in(hooked, `describe job `),
	in(before, `(get|describe) pod .*--context east`),
	in(before, `get secret .*\bNAME\b`, first("kubectl create secret generic token -n shop --context east || true")),
	in(bare, `get validatingadmissionpolicybinding `, first(installed+" --fence")),
	in(managed, `(get|describe) .* -w$`, says(`.`)),
	in(managed, `(get|describe|api-resources|version|auth can-i|explain|patch|annotate|delete) ?`),
}

// place finds the rule for a command.
func place(c manual.Command) (rule, bool) {
	at := slices.IndexFunc(rules, func(r rule) bool { return r.verb.MatchString(strings.Join(strings.Fields(c.Text), " ")) })
	if at < 0 {
		return rule{}, false
	}
	return rules[at], true
}

// fills lists the values that replace placeholders in a command.
var fills = []struct {
	blank *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`/usr/local/bin/`), "./"},
	{regexp.MustCompile(`--port \d+`), "--port 0"}, // any free port
	{regexp.MustCompile(`(port-forward .*) 8444`), "$1 :8444"},
	{regexp.MustCompile(`\bimage=IMAGE\b`), "image=registry.example.com/sliceshift-manager:v1"},
	{regexp.MustCompile(`\bjob/NAME\b`), "job/$(kubectl get jobs -n shop -o jsonpath='{.items[0].metadata.name}')"},
	{regexp.MustCompile(`\bREGISTRY/`), "registry.example.com/"},
	{regexp.MustCompile(`([:=])TAG\b`), "${1}v1"},
	{regexp.MustCompile(`\bNAMESPACE\b`), "shop"},
	{regexp.MustCompile(`\brecipes show NAME\b`), "recipes show postgresql"},
	{regexp.MustCompile(`\b(migrate .*)\bNAME\b`), "${1}web"},
	{regexp.MustCompile(`\bpv (NAME|VOLUME)\b`), "pv $(kubectl get pvc data-web-0 -n shop --context east -o jsonpath='{.spec.volumeName}')"},
	{regexp.MustCompile(`\bKIND NAME\b`), "statefulset web -n shop"},
	{regexp.MustCompile(`\b(pod .*)\bNAME\b`), "${1}web-0"},
	{regexp.MustCompile(`\b(job .*)\bNAME\b`), "${1}$(kubectl get jobs -n shop -o jsonpath='{.items[0].metadata.name}')"},
	{regexp.MustCompile(`\b(secret .*)\bNAME\b`), "${1}token"},
	{regexp.MustCompile(`\bvolumeattachment NAME\b`), "volumeattachment shop-attached"},
	{regexp.MustCompile(`\bcsidriver NAME\b`), "csidriver " + driver},
	{regexp.MustCompile(`--destination-is-off=\S+`), "--destination-is-off=$(" + status + " | grep -o '\"destinationCluster\": *\"[^\"]*' | cut -d'\"' -f4)"},
}

// filled returns a command with its placeholders replaced.
func filled(text string) string {
	for _, each := range fills {
		text = each.blank.ReplaceAllString(text, each.with)
	}
	return text
}

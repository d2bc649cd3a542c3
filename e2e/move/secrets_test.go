package move

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// Secrets of the tests, in addition to the keys of the clusters. No output may contain them.
const (
	markedToken    = "MarkedTokenOfTheTest/+="
	markedPassword = "Marked:Password@OfTheTest"
)

// marks returns the forms in which a secret could appear.
func marks(secrets ...string) []string {
	var all []string
	for _, secret := range secrets {
		all = append(all, secret, base64.StdEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:])
	}
	return all
}

// keyMarks returns strings that identify a PEM key: a line from its middle, and the corresponding part in a
// kubeconfig.
func keyMarks(t testing.TB, pem []byte) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(pem)), "\n")
	encoded := base64.StdEncoding.EncodeToString(pem)
	const few = 3
	if len(lines) < few {
		t.Fatalf("that is no key: %d lines", len(lines))
	}
	return []string{lines[len(lines)/2], encoded[len(encoded)/2 : len(encoded)/2+40]}
}

// bad returns unusable kubeconfigs of the destination, by defect.
func (v *move) bad() map[string][]byte {
	v.T.Helper()
	path, err := v.To.UserKubeconfig("mover")
	v.Must(err)
	files := map[string][]byte{}
	edit := func(name string, change func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo)) {
		config, err := clientcmd.LoadFromFile(path)
		v.Must(err)
		for _, c := range config.Clusters {
			for _, u := range config.AuthInfos {
				change(c, u)
			}
		}
		files[name], err = clientcmd.Write(*config)
		v.Must(err)
	}
	with := func(u clientcmdapi.AuthInfo) func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {
		return func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { *user = u }
	}
	token := clientcmdapi.AuthInfo{Token: markedToken}
	edit("bad-token", with(token))
	edit("bad-password", with(clientcmdapi.AuthInfo{Username: "mover", Password: markedPassword}))
	edit("exec", with(clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: "/nowhere", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		Env: []clientcmdapi.ExecEnvVar{{Name: "TOKEN", Value: markedToken}},
	}}))
	edit("wrong-authority", func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		c.CertificateAuthorityData, *u = v.From.RESTConfig().CAData, token
	})
	edit("nobody-there", func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { c.Server, *u = "https://127.0.0.2:1", token })
	edit("user-in-address", func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		c.Server, *u = "https://"+url.UserPassword("mover", markedPassword).String()+"@127.0.0.2:1", token
	})
	edit("no-address", func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		c.Server, *u = "https://mover:"+markedPassword+"%zz@127.0.0.2:1", token
	})
	edit("proxy", func(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		c.ProxyURL, *u = "http://"+url.UserPassword("mover", markedPassword).String()+"@127.0.0.2:1", token
	})
	edit("bad-key", func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.ClientKeyData = []byte(markedToken) })
	files["no-yaml"] = []byte("apiVersion: v1\nkind: Config\nusers: [{name: a, user: {token: " + markedToken + "\n")
	files["wrong-type"] = []byte("apiVersion: v1\nkind: Config\nusers: " + markedToken + "\n")
	return files
}

// TestSecretsOfTheManager: migrations fail on every kind of bad credentials, and one succeeds. No secret
// appears in the log, an event or a condition.
func TestSecretsOfTheManager(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	c := v.Managed()
	process := harness.NewManager(t, v.App.Namespace, "manager.log")
	process.Args = append(process.Args, "--log-level", "debug")
	process.Start()
	t.Cleanup(func() { process.Kill() })
	var said strings.Builder
	for name, kubeconfig := range v.bad() {
		v.Secret(name, kubeconfig)
		m := v.Migration.DeepCopy()
		m.Name, m.Spec.Destination.KubeConfigSecretRef = name, &api.SecretKeyReference{Name: name}
		v.Must(c.Create(v.Ctx, m))
		v.Eventually("migration "+name+" is refused", func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(m), m)
			return meta.IsStatusConditionFalse(m.Status.Conditions, api.ConditionAccepted), err
		})
		status := exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), "status", name, "-n", v.App.Namespace, "--kubeconfig", v.From.Kubeconfig())
		said.WriteString(v.exits(status, 3))
		t.Logf("%s: %s", name, meta.FindStatusCondition(m.Status.Conditions, api.ConditionAccepted).Message)
	}
	v.Must(c.Create(v.Ctx, v.Migration))
	v.Await(c, api.ConditionCompleted, metav1.ConditionTrue)
	v.Audit()
	log, err := os.ReadFile(process.Log.Name())
	v.Must(err)
	secret := append(marks(markedToken, markedPassword), v.keys()...)
	v.tellsNothing("the manager's log", string(log), secret)
	v.tellsNothing("the Migrations and their events", v.told(c), secret)
	v.tellsNothing("the command", said.String(), secret)
	if !strings.Contains(string(log), "stop ordinal 0") {
		t.Error("the log says nothing at all: the test looks at the wrong place")
	}
}

// told returns everything that the manager has written about the Migrations.
func (v *move) told(c client.Client) string {
	v.T.Helper()
	return v.toldOf(c, len(v.bad()))
}

// toldOf returns the same, and checks that there are at least this many Migrations.
func (v *move) toldOf(c client.Client, least int) string {
	v.T.Helper()
	migrations := &api.MigrationList{}
	v.Must(c.List(v.Ctx, migrations, client.InNamespace(v.App.Namespace)))
	events, err := v.Source.CoreV1().Events(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	if len(migrations.Items) < least || len(events.Items) == 0 {
		v.T.Errorf("only %d Migrations and %d events", len(migrations.Items), len(events.Items))
	}
	data, err := json.Marshal([]any{migrations, events})
	v.Must(err)
	return string(data)
}

// tellsNothing checks that a text contains no secret.
func (v *move) tellsNothing(where, text string, secret []string) {
	v.T.Helper()
	for _, mark := range secret {
		if at := strings.Index(text, mark); at >= 0 {
			v.T.Errorf("%s tells a secret: %q", where, text[max(0, at-80):at+len(mark)])
		}
	}
}

// keys returns the marks of all keys in the kubeconfigs of the namespace's Secrets.
func (v *move) keys() []string {
	v.T.Helper()
	secrets, err := v.Source.CoreV1().Secrets(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	var all []string
	for i := range secrets.Items {
		config, err := clientcmd.Load(secrets.Items[i].Data["value"])
		if err != nil {
			continue // some are invalid on purpose
		}
		for _, user := range config.AuthInfos {
			if strings.HasPrefix(string(user.ClientKeyData), "-----BEGIN") {
				all = append(all, keyMarks(v.T, user.ClientKeyData)...)
			}
		}
	}
	if len(all) == 0 {
		v.T.Error("no key is in any Secret")
	}
	return all
}

// TestSecretsOfTheCommand: the command's errors about unusable kubeconfigs contain no secret.
func TestSecretsOfTheCommand(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters)
	secret := marks(markedToken, markedPassword)
	for name, data := range v.bad() {
		path := filepath.Join(t.TempDir(), name)
		v.Must(os.WriteFile(path, data, 0o600))
		for _, args := range [][]string{
			{"run", "--kubeconfig", v.From.Kubeconfig(), "--to-kubeconfig", path},
			{"plan", "--kubeconfig", path, "--to-kubeconfig", v.To.Kubeconfig()},
			{"status", "--kubeconfig", path},
		} {
			cmd := exec.CommandContext(v.Ctx, harness.Program(t, "migrate"), append(args, v.App.Name, "-n", v.App.Namespace, "--request-timeout", "3s")...)
			said := v.exits(cmd, 1)
			v.tellsNothing(name+": "+args[0], said, secret)
			t.Logf("%s %s: %s", args[0], name, said)
		}
	}
	records, err := v.Source.CoreV1().ConfigMaps(v.App.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	data, err := json.Marshal(records)
	v.Must(err)
	v.tellsNothing("the records", string(data), secret)
}

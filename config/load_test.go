package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

func TestLoad(t *testing.T) {
	ofEveryType := func(c *Config) {
		c.MetricsBindAddress = AddressOff
		c.LeaderElection.Enabled = false
		c.LeaderElection.LeaseDuration = 20 * time.Second
		c.ClusterClient.QPS, c.ClusterClient.Burst = 12.5, 7
	}
	cases := map[string]struct {
		file  string
		env   map[string]string
		flags []string
		want  func(*Config)
	}{
		"nothing set": {
			want: func(*Config) {},
		},
		"empty file": {
			file: "# all defaults\n",
			want: func(*Config) {},
		},
		"key without a value keeps the default": {
			file: "concurrency:\nleaderElection:\n",
			want: func(*Config) {},
		},
		"file over default": {
			file: "concurrency: 3\nleaderElection: {leaseDuration: 1m, enabled: false}\nclusterClient: {qps: 2.5}\n",
			want: func(c *Config) {
				c.Concurrency = 3
				c.LeaderElection.LeaseDuration = time.Minute
				c.LeaderElection.Enabled = false
				c.ClusterClient.QPS = 2.5
			},
		},
		"environment over file": {
			file: "concurrency: 3\nlogLevel: info\n",
			env:  map[string]string{"SLICESHIFT_CONCURRENCY": "4", "SLICESHIFT_LOG_LEVEL": "debug"},
			want: func(c *Config) { c.Concurrency, c.LogLevel = 4, LogLevelDebug },
		},
		"flag over environment and file": {
			file:  "concurrency: 3\n",
			env:   map[string]string{"SLICESHIFT_CONCURRENCY": "4"},
			flags: []string{"--concurrency=5"},
			want:  func(c *Config) { c.Concurrency = 5 },
		},
		"flag set to its default still wins": {
			file:  "concurrency: 3\n",
			flags: []string{"--concurrency=20"},
			want:  func(*Config) {},
		},
		"empty flag over environment": {
			env:   map[string]string{"SLICESHIFT_WATCH_NAMESPACE": "shop"},
			flags: []string{"--watch-namespace="},
			want:  func(*Config) {},
		},
		"every type from the environment": {
			env: map[string]string{
				"SLICESHIFT_METRICS_BIND_ADDRESS":           "0",
				"SLICESHIFT_LEADER_ELECTION_ENABLED":        "false",
				"SLICESHIFT_LEADER_ELECTION_LEASE_DURATION": "20s",
				"SLICESHIFT_CLUSTER_CLIENT_QPS":             "12.5",
				"SLICESHIFT_CLUSTER_CLIENT_BURST":           "7",
				"SLICESHIFT_VOLUMES_DRIVERS":                "a.example.com,b.example.com",
			},
			want: func(c *Config) {
				ofEveryType(c)
				c.Volumes.Drivers = []string{"a.example.com", "b.example.com"}
			},
		},
		"every type from flags": {
			flags: []string{
				"--metrics-bind-address=0", "--leader-election-enabled=false", "--leader-election-lease-duration=20s",
				"--cluster-client-qps=12.5", "--cluster-client-burst=7",
				"--volumes-secret-namespaces=rook-ceph", "--volumes-secret-namespaces=storage",
			},
			want: func(c *Config) {
				ofEveryType(c)
				c.Volumes.SecretNamespaces = []string{"rook-ceph", "storage"}
			},
		},
		"variable of another program": {
			env:  map[string]string{"SLICESHIFT_SERVICE_HOST": "10.0.0.1", "CONCURRENCY": "99"},
			want: func(*Config) {},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := load(t, tc.file, tc.env, tc.flags)
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			want := Default()
			tc.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	cases := map[string]struct {
		file  string
		env   map[string]string
		flags []string
		// want lists texts that the error must contain; %f stands for the path of the file.
		want []string
	}{
		"unknown key":                 {file: "concurrencies: 3\n", want: []string{`file %f, line 1: unknown key "concurrencies"`}},
		"unknown nested key":          {file: "leaderElection:\n  id: a\n  ttl: 3s\n", want: []string{`file %f, line 3: unknown key "leaderElection.ttl"`}},
		"unknown empty section":       {file: "webhook: {}\n", want: []string{`unknown key "webhook"`}},
		"every unknown key is named":  {file: "a: 1\nb: 2\n", want: []string{`"a"`, `"b"`}},
		"key in another case":         {file: "Concurrency: 3\n", want: []string{`unknown key "Concurrency"`}},
		"dotted key":                  {file: "clusterClient.tls: 3\n", want: []string{`unknown key "clusterClient.tls"`}},
		"key below a value":           {file: "concurrency: {max: 3}\n", want: []string{"line 1: concurrency must be one value"}},
		"list for a value":            {file: "logLevel: [info]\n", want: []string{"logLevel must be one value"}},
		"value for a section":         {file: "clusterClient: 3\n", want: []string{"clusterClient must be a section"}},
		"list as file":                {file: "- concurrency\n", want: []string{"the file must be a section"}},
		"repeated key":                {file: "concurrency: 3\nconcurrency: 4\n", want: []string{"file %f", `"concurrency" already defined`}},
		"merge key":                   {file: "clusterClient: {<<: {qps: 3}}\n", want: []string{`unknown key "clusterClient.<<"`}},
		"two documents":               {file: "concurrency: 3\n---\nconcurrency: 4\n", want: []string{"more than one YAML document"}},
		"not YAML":                    {file: "concurrency: [\n", want: []string{"file %f", "yaml"}},
		"text for a number":           {file: "concurrency: many\n", want: []string{`file %f: concurrency: must be a whole number, not "many"`}},
		"fraction for a whole number": {file: "concurrency: 2.5\n", want: []string{"concurrency: must be a whole number, not 2.5"}},
		"truth for a number":          {file: "concurrency: true\n", want: []string{"concurrency: must be a whole number, not true"}},
		"number too large":            {file: "concurrency: 18446744073709551615\n", want: []string{"concurrency: must be a whole number"}},
		"number for truth":            {file: "leaderElection: {enabled: 1}\n", want: []string{"leaderElection.enabled: must be true or false, not 1"}},
		"duration without a unit":     {file: "clusterClient: {timeout: 15}\n", want: []string{"clusterClient.timeout: must be a duration with its unit"}},
		"number for text":             {file: "metricsBindAddress: 0\n", want: []string{"metricsBindAddress: must be text, not 0: put it in quotes"}},
		"text for a rate":             {file: "clusterClient: {qps: fast}\n", want: []string{`clusterClient.qps: must be a number, not "fast"`}},
		"every wrong type is named":   {file: "concurrency: x\nclusterClient: {burst: y}\n", want: []string{"concurrency:", "clusterClient.burst:"}},
		"bad type in the environment": {
			env:  map[string]string{"SLICESHIFT_CONCURRENCY": "many"},
			want: []string{`environment variable SLICESHIFT_CONCURRENCY: concurrency: must be a whole number, not "many"`},
		},
		"out of range in the file": {
			file: "concurrency: 101\nclusterClient: {qps: .nan}\n",
			want: []string{"concurrency: Invalid value: 101", "clusterClient.qps"},
		},
		"out of range in a flag": {flags: []string{"--concurrency=0"}, want: []string{"concurrency: Invalid value: 0"}},
		"out of range for a float": {
			env:  map[string]string{"SLICESHIFT_CLUSTER_CLIENT_QPS": "1e99"},
			want: []string{"clusterClient.qps: Invalid value"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := load(t, tc.file, tc.env, tc.flags)
			if err == nil {
				t.Fatalf("Load accepted it: %+v", got)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

func TestLoadWithoutFlags(t *testing.T) {
	got, err := Load(nil, "")
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("Config (-want +got):\n%s", diff)
	}
	if _, err := Load(nil, filepath.Join(t.TempDir(), "missing.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v, want %v", err, fs.ErrNotExist)
	}
}

// load runs Load with a file of the given content, or without a file if it is empty.
func load(t *testing.T, file string, env map[string]string, args []string) (Config, error) {
	t.Helper()
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "sliceshift.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	config, err := Load(flags, path)
	if err != nil && path != "" {
		err = errors.New(strings.ReplaceAll(err.Error(), path, "%f"))
	}
	return config, err
}

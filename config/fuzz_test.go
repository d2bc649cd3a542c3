package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
)

// FuzzLoad: for any file and any flag value, Load does not panic and returns only valid configurations.
func FuzzLoad(f *testing.F) {
	path := filepath.Join(f.TempDir(), "sliceshift.yaml")
	f.Add([]byte("concurrency: 3\nleaderElection: {id: a, leaseDuration: 20s}\n"), "concurrency", "4")
	f.Add([]byte("clusterClient: {qps: .nan, timeout: 1h}\n"), "log-level", "debug")
	f.Add([]byte("a: &a {b: *a}\n---\n"), "kubeconfig", "")
	f.Fuzz(func(t *testing.T, file []byte, flag, value string) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		flags := pflag.NewFlagSet("fuzz", pflag.ContinueOnError)
		AddFlags(flags)
		if flags.Lookup(flag) != nil && flags.Set(flag, value) != nil {
			return
		}
		config, err := Load(flags, path)
		if err != nil {
			return
		}
		if problems := config.Validate(); len(problems) > 0 {
			t.Errorf("invalid: %v", problems)
		}
	})
}

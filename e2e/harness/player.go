package harness

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/player"
)

// players run the pods of movers. Each cluster has one from the first test that needs it.
var players = struct {
	sync.Mutex
	of map[*cluster.Cluster]*player.Player
}{of: map[*cluster.Cluster]*player.Player{}}

// Player returns the player of an embedded cluster, which runs the pods of movers for all tests of the package.
func Player(t testing.TB, of Cluster) *player.Player {
	t.Helper()
	parts, mover := PartsOf(of), Program(t, "mover")
	players.Lock()
	defer players.Unlock()
	if p := players.of[parts]; p != nil {
		return p
	}
	p, err := player.Start(context.WithoutCancel(t.Context()), player.Options{
		Config: of.RESTConfig(), Program: mover, Dir: filepath.Join(filepath.Dir(parts.LogFile(cluster.Kwok)), "movers"),
	})
	if err != nil {
		t.Fatal(err)
	}
	players.of[parts] = p
	return p
}

// stopPlayer stops the player of a cluster, if it has one.
func stopPlayer(of *cluster.Cluster) {
	players.Lock()
	defer players.Unlock()
	if p := players.of[of]; p != nil {
		p.Stop()
		delete(players.of, of)
	}
}

package progress

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/printable"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Steering is what a person can order who watches.
type Steering struct {
	// Steer writes a mode; nil: nothing can be ordered. It is called for one mode after the other.
	Steer func(api.Mode) error
	// Name is that of the migration, which confirms an order that turns it round.
	Name string
	// Interrupt is for the key that ends the process: the terminal gives it no signal while keys are read.
	Interrupt func()
}

// liveEvery is how often the seconds are counted on.
const liveEvery = 250 * time.Millisecond

// Live is a display on a terminal whose keys are read: lines of events, and below them both slices, how far the move is, and the
// order that is typed. Once it is closed, or ^C has ended it, events are plain lines.
type Live struct {
	program   *tea.Program
	ended     chan struct{}
	plain     plainDisplay
	width     func() int
	interrupt func()
}

// NewLive begins to draw.
func NewLive(c *command.Common, s Steering) *Live {
	m := liveModel{panel: panel{Meter{terminal.Bar{Paint: c.Paint(), Unicode: c.Unicode()}}}, now: c.Clock.Now, width: c.Width(), orders: orders{write: s.Steer, name: s.Name}}
	l := &Live{
		program: tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(printable.Behind(c.Out)), tea.WithoutSignalHandler()),
		ended:   make(chan struct{}), plain: plainDisplay{c.Out, c.Paint()}, width: c.Width, interrupt: s.Interrupt,
	}
	go l.run()
	return l
}

func (l *Live) run() {
	last, err := l.program.Run()
	close(l.ended)
	left, known := last.(liveModel)
	if err != nil {
		// A terminal that cannot be drawn on stops no move: its events are lines from here on.
		fmt.Fprintf(l.plain.out, "the terminal cannot be drawn on: %v\n", err)
		return
	}
	if order := left.orders.unwritten(); known && order != "" {
		fmt.Fprintf(l.plain.out, "the order %s may not have been written: give it again by the command of that name\n", wordOf(order))
	}
	if known && left.interrupted && l.interrupt != nil {
		l.interrupt()
	}
}

// Show implements Display.
func (l *Live) Show(e Event) {
	select {
	case <-l.ended:
		l.plain.Show(e)
	default:
		l.program.Println(printable.Coloured(strings.Join(e.lines(l.plain.paint, l.width()), "\n")))
	}
}

// Update implements Display.
func (l *Live) Update(p State) { l.program.Send(p) }

// Close implements Display.
func (l *Live) Close() {
	l.program.Send(overMsg{})
	<-l.ended
}

// Line writes a line above what is drawn.
func (l *Live) Line(text string) {
	select {
	case <-l.ended:
		fmt.Fprintln(l.plain.out, text)
	default:
		l.program.Println(printable.Coloured(text))
	}
}

// Lost says that what is shown is old, and why; nil: it is not any more.
func (l *Live) Lost(err error) { l.program.Send(lostMsg{err}) }

// The messages of the model besides State, keys and sizes.
type (
	lostMsg    struct{ err error }
	overMsg    struct{}
	tickMsg    struct{}
	steeredMsg struct {
		mode api.Mode
		err  error
	}
)

// liveModel is what a live display shows, and what its keys do. It has no terminal and no clock of its own.
type liveModel struct {
	panel  panel
	now    func() time.Time
	state  State
	known  bool
	width  int
	orders orders
	// lost is why nothing new is known since then; nil: it is.
	lost        error
	lostSince   time.Time
	over        bool
	interrupted bool
}

// Init implements tea.Model.
func (m liveModel) Init() tea.Cmd { return tick() }

func tick() tea.Cmd { return tea.Tick(liveEvery, func(time.Time) tea.Msg { return tickMsg{} }) }

// Update implements tea.Model.
func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case State:
		m.state, m.known = msg, true
		m.lost = nil
	case lostMsg:
		if m.lost == nil {
			m.lostSince = m.now()
		}
		m.lost = msg.err
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case tickMsg:
		return m, tick()
	case steeredMsg:
		return m.ordered(m.orders.written(msg))
	case overMsg:
		m.over = true
		return m, tea.Quit
	case tea.PasteMsg:
		if m.orders.write != nil {
			m.orders = m.orders.pasted()
		}
	case tea.KeyPressMsg:
		return m.key(msg)
	}
	return m, nil
}

// key is what a key does. Where nothing can be ordered it is ^C alone: what is typed beside it is meant for another window.
func (m liveModel) key(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch {
	case key.String() == "ctrl+c":
		m.over, m.interrupted = true, true
		return m, tea.Quit
	case m.orders.write == nil:
		return m, nil
	}
	return m.ordered(m.orders.key(key.Key(), m.now(), m.state.back))
}

func (m liveModel) ordered(o orders, command tea.Cmd) (tea.Model, tea.Cmd) {
	m.orders = o
	return m, command
}

// View implements tea.Model.
func (m liveModel) View() tea.View {
	if m.over || !m.known || m.width < terminal.LeastWidth {
		return tea.NewView("")
	}
	lines := m.panel.lines(m.state, m.now(), m.width)
	return tea.NewView(printable.Coloured(strings.Join(append(lines, m.foot()...), "\n")))
}

// foot is the last lines: what can be ordered, what is typed, or what the last order came to.
func (m liveModel) foot() []string {
	o := m.orders
	line := func(paint func(string) string, text string) []string { return folded(text, m.width, paint) }
	text := "^C leave"
	if o.write != nil {
		text = "pause, resume, rollback: a word and Enter   " + text
	}
	switch {
	case m.lost != nil:
		since := terminal.Coarse(m.now().Sub(m.lostSince))
		return line(m.panel.Paint.Red, fmt.Sprintf("no connection for %s, what is shown is from before: %v", since, m.lost))
	case o.asks != "":
		return line(m.panel.Paint.Yellow, o.question()+strings.TrimRight("   > "+o.line, " "))
	case o.line != "":
		return line(m.panel.Paint.Bold, "> "+o.line)
	case o.says != "" && len("  "+text+"   "+o.says) >= m.width:
		text = o.says // what the order came to counts more than what orders there are
	case o.says != "":
		text += "   " + o.says
	}
	return line(m.panel.Paint.Dim, text)
}

package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/command"
	"github.com/sliceshift/sliceshift/cmd/migrate/terminal"
	"github.com/sliceshift/sliceshift/internal/printable"
	"github.com/sliceshift/sliceshift/migration/view"
)

// Steering lets a user steer the run from its display.
type Steering struct {
	// Steer writes a mode; nil if the display is read-only. It is called for one mode at a time.
	Steer func(api.Mode) error
	// Name is the name of the migration, which confirms a command that reverses it.
	Name string
	// Interrupt is called for the interrupt key, because a terminal sends no signal while keys are read.
	Interrupt func()
}

// liveEvery is how often the displayed durations are updated.
const liveEvery = 250 * time.Millisecond

// Live is a display on a terminal that reads keys. It shows lines of events, and below them both slices, the progress,
// and the typed command. After Close or ^C, events are plain lines.
type Live struct {
	program   *tea.Program
	ended     chan struct{}
	out       io.Writer
	paint     terminal.Painter
	width     func() int
	interrupt func()
}

// NewLive returns a display and begins to draw.
func NewLive(c *command.Common, s Steering) *Live {
	m := liveModel{panel: panel{Meter{terminal.Bar{Paint: c.Paint(), Unicode: c.Unicode()}}}, now: c.Clock.Now, width: c.Width(), orders: orders{write: s.Steer, name: s.Name}}
	l := &Live{
		program: tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(printable.Behind(c.Out)), tea.WithoutSignalHandler()),
		ended:   make(chan struct{}), out: c.Out, paint: c.Paint(), width: c.Width, interrupt: s.Interrupt,
	}
	go l.run()
	return l
}

func (l *Live) run() {
	last, err := l.program.Run()
	close(l.ended)
	left, known := last.(liveModel)
	if err != nil {
		// An unusable terminal does not stop a move: its events are plain lines from here on.
		fmt.Fprintf(l.out, "cannot draw on the terminal: %v\n", err)
		return
	}
	if order := left.orders.unwritten(); known && order != "" {
		fmt.Fprintf(l.out, "the order %s may not have been written: repeat it with the command of that name\n", wordOf(order))
	}
	if known && left.interrupted && l.interrupt != nil {
		l.interrupt()
	}
}

// Show implements Display.
func (l *Live) Show(e Event) {
	select {
	case <-l.ended:
		plain(l.out, l.paint)(e)
	default:
		l.program.Println(printable.Coloured(strings.Join(e.lines(l.paint, l.width()), "\n")))
	}
}

// Update implements Display.
func (l *Live) Update(p State) { l.program.Send(p) }

// Close implements Display.
func (l *Live) Close() {
	l.program.Send(overMsg{})
	<-l.ended
}

// Line writes a line above the drawing.
func (l *Live) Line(text string) {
	select {
	case <-l.ended:
		fmt.Fprintln(l.out, text)
	default:
		l.program.Println(printable.Coloured(text))
	}
}

// Lost shows that the displayed state is outdated, and why. A nil error removes the message.
func (l *Live) Lost(err error) { l.program.Send(lostMsg{err}) }

// The messages of the model in addition to State, keys and sizes.
type (
	lostMsg    struct{ err error }
	overMsg    struct{}
	tickMsg    struct{}
	steeredMsg struct {
		mode api.Mode
		err  error
	}
)

// liveModel holds the state of a live display and handles its keys. It has no terminal and no clock of its own.
type liveModel struct {
	panel  panel
	now    func() time.Time
	state  State
	known  bool
	width  int
	orders orders
	// lost is the error since which the state is outdated; nil if it is current.
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

// key handles a key. In a read-only display only ^C has an effect, because other keys are meant for another window.
func (m liveModel) key(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	switch {
	case key.String() == "ctrl+c":
		m.over, m.interrupted = true, true
		return m, tea.Quit
	case m.orders.write == nil:
		return m, nil
	}
	return m.ordered(m.orders.key(key.Key(), m.now(), m.state.Back))
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

// foot returns the last lines: the available commands, the typed text, or the result of the last command.
func (m liveModel) foot() []string {
	o := m.orders
	line := func(paint func(string) string, text string) []string { return folded(text, m.width, paint) }
	text := "^C leave"
	if o.write != nil {
		text = "pause, resume, rollback: a word and Enter   " + text
	}
	switch {
	case m.lost != nil:
		since := view.Ago(m.now(), m.lostSince)
		return line(m.panel.Paint.Red, fmt.Sprintf("no connection for %s, the shown state is older: %v", since, m.lost))
	case o.asks != "":
		return line(m.panel.Paint.Yellow, o.question(m.state.Words())+strings.TrimRight("   > "+o.line, " "))
	case o.line != "":
		return line(m.panel.Paint.Bold, "> "+o.line)
	case o.says != "" && len("  "+text+"   "+o.says) >= m.width:
		text = o.says // the result is more important than the list of commands
	case o.says != "":
		text += "   " + o.says
	}
	return line(m.panel.Paint.Dim, text)
}

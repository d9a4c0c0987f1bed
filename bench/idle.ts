/** A process that does nothing. The delays of its timers are those of the machine. */
console.log('ready at http://127.0.0.1')
setInterval(() => {}, 1000)
